"""Writes random Parquet, CSV and JSONL files, and beside each what Python's readers read of it.

  pip install pyarrow==26.0.1 polars==2.1.0
  python random_rows.py FOLDER [SEED [COUNT]]

FOLDER gets COUNT files of each format (2000) and for each a JSON file: `{"columns": […], "rows": [[…]]}`, with values
that JSON has not as `{"$": kind, "v": …}`; or `{"error": …}` where Python refuses the file.

  python random_rows.py FOLDER pick FILE

writes a few of them, as different as possible, with their bytes into FILE: ../fixtures/random-rows.jsonl.
random-rows.test.ts compares our readers with them, or with the whole folder:

  MP_RANDOM_ROWS=FOLDER npx vitest run test/random-rows --testTimeout=1000000
"""

import base64
import csv
import datetime
import decimal
import io
import itertools
import json
import math
import pathlib
import random
import re
import sys

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

SAFE = 2**53 - 1
EPOCH = datetime.datetime(1970, 1, 1)
NAMES = ["a", "b", "c", "id", "text", "a.b", "x.y.z", "", " ", "é日", "😀", "0", "10", "-1", "list", "element", "item",
         "key", "value", "key_value", "__proto__", "constructor", "toString", "hasOwnProperty", "prototype", "then",
         "length", "messages", "$", "A", "schema", "\t", '"', "a b"]
TEXTS = ["", "a", "b", "NA", "null", "é", "日本", "😀", "\x00", "a\nb", "\r\n", '"q"', ",", "\ufeff", "\u2028", " x ",
         "x" * 40, "__proto__", "1", "true", "\U0010ffff"]


def tag(kind, value):
    return {"$": kind, "v": value}


def number(value):
    """A number of JSON, or a tagged one."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if abs(value) <= SAFE else tag("int", str(value))
    if math.isnan(value) or math.isinf(value):
        return tag("float", str(value))
    return value if value != 0 or math.copysign(1, value) > 0 else tag("float", "-0")


def json_value(value):
    if isinstance(value, dict):
        return tag("object", [[key, json_value(part)] for key, part in value.items()])
    if isinstance(value, list):
        return [json_value(part) for part in value]
    return value if isinstance(value, str) else number(value)


def arrow_value(kind, scalar):
    """What a scalar of Arrow holds, by its type."""
    if not scalar.is_valid:
        return None
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name == "arrow.uuid":
            return str(scalar.as_py())
        return arrow_value(kind.storage_type, scalar.value)
    if pa.types.is_dictionary(kind):
        return arrow_value(kind.value_type, scalar.value)
    if pa.types.is_timestamp(kind):
        scale = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[kind.unit]
        return tag("nanoseconds", str(scalar.value * scale))
    if pa.types.is_date(kind):
        return tag("nanoseconds", str(scalar.value * (86400 * 10**9 if pa.types.is_date32(kind) else 10**6)))
    if pa.types.is_time(kind):
        scale = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[kind.unit]
        return tag("time", str(scalar.value * scale))
    if pa.types.is_duration(kind):
        return number(scalar.value)
    if pa.types.is_decimal(kind):
        return tag("decimal", format(scalar.as_py(), "f"))
    if pa.types.is_map(kind):
        return tag("map", [[arrow_value(kind.key_type, pair["key"]), arrow_value(kind.item_type, pair["value"])]
                           for pair in (scalar.values[at] for at in range(len(scalar.values)))])
    if pa.types.is_struct(kind):
        return tag("object", [[field.name, arrow_value(field.type, scalar[at])]
                              for at, field in enumerate(kind)])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind) or \
            pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        return [arrow_value(kind.value_type, part) for part in scalar.values]
    value = scalar.as_py()
    if isinstance(value, bytes):
        return tag("bytes", value.hex())
    return value if isinstance(value, str) else number(float(value) if pa.types.is_floating(kind) else value)


def expect_table(table):
    columns = [[arrow_value(column.type, scalar) for chunk in column.chunks for scalar in chunk]
               for column in table.columns]
    return {"columns": table.column_names, "rows": [list(row) for row in zip(*columns)]}


# Random values


def some(draw, *choices):
    return draw.choice(choices)


def text(draw):
    return draw.choice(TEXTS) if draw.random() < 0.7 else "".join(draw.choice(TEXTS) for _ in range(draw.randrange(4)))


def whole(draw, low, high):
    """An integer, often at an end of the range or at the border of exact numbers."""
    if draw.random() < 0.05:
        edges = [low, high, 0, 2**53, 2**53 + 1, -(2**53) - 1, 2**53 - 1]
        return draw.choice([edge for edge in edges if low <= edge <= high])
    return draw.randint(max(low, -1000), min(high, 1000)) if draw.random() < 0.9 else \
        draw.randint(max(low, -SAFE), min(high, SAFE))


def real(draw):
    return draw.choice([0.0, -0.0, 1.5, 0.1, 1e300, 5e-324, math.inf, -math.inf, math.nan]) if draw.random() < 0.3 \
        else draw.gauss(0, 1000)


INTEGERS = {pa.int8(): (-(2**7), 2**7 - 1), pa.int16(): (-(2**15), 2**15 - 1), pa.int32(): (-(2**31), 2**31 - 1),
            pa.int64(): (-(2**63), 2**63 - 1), pa.uint8(): (0, 2**8 - 1), pa.uint16(): (0, 2**16 - 1),
            pa.uint32(): (0, 2**32 - 1), pa.uint64(): (0, 2**64 - 1)}


def leaf_type(draw):
    precision = draw.choice([1, 4, 9, 10, 15, 16, 18, 19, 30, 38])
    return draw.choice([
        *INTEGERS, pa.float16(), pa.float32(), pa.float64(), pa.bool_(), pa.string(), pa.large_string(), pa.binary(),
        pa.binary(draw.choice([1, 2, 5, 16])), pa.date32(), pa.date64(), pa.null(),
        *(pa.timestamp(unit, tz) for unit in ("s", "ms", "us", "ns") for tz in (None, "UTC")),
        pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"), pa.duration("us"),
        pa.decimal128(precision, draw.choice([0, 0, 1, precision])), pa.decimal256(precision + 30, draw.choice([0, 5])),
        pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.int64()), pa.string_view(),
        pa.uuid(), pa.json_(),
    ])


def field(draw, name, kind):
    return pa.field(name, kind, nullable=pa.types.is_null(kind) or draw.random() < 0.75)


def arrow_type(draw, depth=0):
    kind = draw.random()
    if depth == 3 or kind < 0.6:
        return leaf_type(draw)
    inner = lambda: arrow_type(draw, depth + 1)
    if kind < 0.75:
        return draw.choice([pa.list_, pa.large_list])(field(draw, "element", inner()))
    if kind < 0.8:
        return pa.list_(inner(), draw.randrange(1, 4))
    if kind < 0.95:
        names = draw.sample(NAMES, draw.randrange(1, 4))
        return pa.struct([field(draw, name, inner()) for name in names])
    return pa.map_(draw.choice([pa.string(), pa.string(), pa.int32()]), inner())


def random_value(draw, kind, nullable, nulls):
    if (nullable and draw.random() < nulls) or pa.types.is_null(kind):
        return None
    if pa.types.is_dictionary(kind):
        return random_value(draw, kind.value_type, False, nulls)
    if isinstance(kind, pa.BaseExtensionType):
        return draw.randbytes(16) if kind.extension_name == "arrow.uuid" else json.dumps(text(draw))
    if pa.types.is_integer(kind):
        return whole(draw, *INTEGERS[kind])
    if pa.types.is_floating(kind):
        return real(draw) if kind.bit_width > 16 else draw.choice([1.5, 65504.0, 5.96e-8, math.nan, -0.0, math.inf, 0.1])
    if pa.types.is_boolean(kind):
        return draw.random() < 0.5
    if pa.types.is_fixed_size_binary(kind):
        return draw.randbytes(kind.byte_width)
    if pa.types.is_binary(kind):
        return draw.randbytes(draw.randrange(5))
    if pa.types.is_decimal(kind):
        digits = draw.randrange(1, kind.precision + 1) if draw.random() < 0.2 else min(kind.precision, 4)
        unscaled = draw.randint(-(10**digits) + 1, 10**digits - 1)
        return decimal.Decimal(unscaled).scaleb(-kind.scale, decimal.Context(prec=80))
    if pa.types.is_timestamp(kind):
        scale = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
        return draw.randint(-(2**31), 2**33) * scale + draw.choice([0, 0, 1, 999]) % scale
    if pa.types.is_date32(kind):
        return draw.randint(-100000, 100000)
    if pa.types.is_date64(kind):
        return draw.randint(-100000, 100000) * 86400000
    if pa.types.is_time(kind):
        return draw.randrange(86400) * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit] + \
            (0 if kind.unit == "s" else draw.choice([0, 1, 999]))
    if pa.types.is_duration(kind):
        return draw.randint(-(10**6), 10**9)
    if pa.types.is_struct(kind):
        return {field.name: random_value(draw, field.type, field.nullable, nulls) for field in kind}
    if pa.types.is_map(kind):
        keys = {random_value(draw, kind.key_type, False, 0): None for _ in range(draw.randrange(4))}
        if draw.random() < 0.02 and keys:
            keys = [*keys, *keys]
        return [(key, random_value(draw, kind.item_type, True, nulls)) for key in keys]
    if pa.types.is_fixed_size_list(kind):
        return [random_value(draw, kind.value_type, kind.value_field.nullable, nulls) for _ in range(kind.list_size)]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        count = draw.randrange(5) if draw.random() < 0.98 else 300
        return [random_value(draw, kind.value_type, kind.value_field.nullable, nulls) for _ in range(count)]
    return text(draw)


def build(kind, values):
    """An Arrow array; raw numbers stand for times."""
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, pa.array(values, kind.storage_type))
    return pa.array(values, kind)


ENCODINGS = {"integer": ["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"], "float": ["PLAIN", "BYTE_STREAM_SPLIT"],
             "bytes": ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"], "fixed": ["PLAIN", "BYTE_STREAM_SPLIT"],
             "boolean": ["PLAIN", "RLE"]}


def encodings_of(kind):
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if pa.types.is_floating(kind) and kind.bit_width > 16:
        return ENCODINGS["float"]
    if pa.types.is_fixed_size_binary(kind) or pa.types.is_float16(kind):
        return ENCODINGS["fixed"]
    if pa.types.is_boolean(kind):
        return ENCODINGS["boolean"]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind):
        return ENCODINGS["bytes"]
    if pa.types.is_integer(kind) or pa.types.is_temporal(kind):
        return ENCODINGS["integer"]
    return ["PLAIN"]


def write_pyarrow(draw, path):
    names = draw.sample(NAMES, draw.randrange(1, 6))
    if draw.random() < 0.01 and len(names) > 1:
        names[1] = names[0]
    count = draw.choice([0, 1, 2, 7, 30, 30, 60, 400])
    nulls = draw.choice([0, 0.1, 0.5, 1])
    fields = [field(draw, name, arrow_type(draw)) for name in names]
    arrays = [build(one.type, [random_value(draw, one.type, one.nullable, nulls) for _ in range(count)]) for one in fields]
    table = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
    options = {
        "compression": draw.choice(["none", "snappy", "gzip", "brotli", "zstd", "lz4"]),
        "data_page_version": draw.choice(["1.0", "2.0"]),
        "version": draw.choice(["1.0", "2.4", "2.6"]),
        "row_group_size": draw.choice([1, 3, 20, 1000]) if count < 100 else draw.choice([70, 1000]),
        "data_page_size": draw.choice([16, 64, 1024, None]),
        "write_statistics": draw.random() < 0.7,
        "write_page_index": draw.random() < 0.3,
        "write_page_checksum": draw.random() < 0.3,
        "store_schema": draw.random() < 0.7,
        "use_compliant_nested_type": draw.random() < 0.8,
        "use_deprecated_int96_timestamps": draw.random() < 0.05,
        "store_decimal_as_integer": draw.random() < 0.3,
        "write_batch_size": draw.choice([1, 5, 1024]),
        "use_dictionary": draw.random() < 0.6,
        "dictionary_pagesize_limit": draw.choice([8, 64, 10**6]),
    }
    if not options["use_dictionary"] and draw.random() < 0.7 and len(set(names)) == len(names):
        flat = [one for one in fields if not pa.types.is_nested(one.type) and "." not in one.name]
        options["column_encoding"] = {one.name: draw.choice(encodings_of(one.type)) for one in flat} or None
    pq.write_table(table, path, **options)


POLARS = [pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64, pl.Float32, pl.Float64,
          pl.Boolean, pl.String, pl.Binary, pl.Date, pl.Time, pl.Datetime("ms"), pl.Datetime("us"), pl.Datetime("ns"),
          pl.Datetime("us", "UTC"), pl.Duration("us"), pl.Decimal(10, 2), pl.Decimal(38, 0), pl.Decimal(15, 0),
          pl.Categorical, pl.Enum(list(dict.fromkeys(TEXTS))), pl.Null]


def polars_type(draw, depth=0):
    kind = draw.random()
    if depth == 3 or kind < 0.6:
        return draw.choice(POLARS)
    if kind < 0.8:
        return pl.List(polars_type(draw, depth + 1))
    if kind < 0.85:
        return pl.Array(polars_type(draw, depth + 1), draw.randrange(1, 4))
    names = draw.sample(NAMES, draw.randrange(1, 4))
    return pl.Struct({name: polars_type(draw, depth + 1) for name in names})


def polars_value(draw, kind, nulls):
    if draw.random() < nulls or kind == pl.Null:
        return None
    if isinstance(kind, (pl.List, pl.Array)):
        return [polars_value(draw, kind.inner, nulls)
                for _ in range(kind.size if isinstance(kind, pl.Array) else draw.randrange(5))]
    if isinstance(kind, pl.Struct):
        return {field.name: polars_value(draw, field.dtype, nulls) for field in kind.fields}
    ranges = {pl.Int8: pa.int8(), pl.Int16: pa.int16(), pl.Int32: pa.int32(), pl.Int64: pa.int64(), pl.UInt8: pa.uint8(),
              pl.UInt16: pa.uint16(), pl.UInt32: pa.uint32(), pl.UInt64: pa.uint64()}
    if kind in ranges:
        return whole(draw, *INTEGERS[ranges[kind]])
    if kind in (pl.Float32, pl.Float64):
        return real(draw)
    if kind == pl.Boolean:
        return draw.random() < 0.5
    if kind == pl.Binary:
        return draw.randbytes(draw.randrange(5))
    if isinstance(kind, pl.Decimal):
        digits = draw.randrange(1, kind.precision + 1) if draw.random() < 0.2 else 4
        return decimal.Decimal(draw.randint(-(10**digits) + 1, 10**digits - 1)).scaleb(-kind.scale)
    if kind == pl.Date:
        return (EPOCH + datetime.timedelta(seconds=draw.randint(-(2**31), 2**33))).date()
    if kind == pl.Time:
        return (EPOCH + datetime.timedelta(microseconds=draw.randrange(86400 * 10**6))).time()
    if isinstance(kind, pl.Datetime):
        moment = EPOCH + datetime.timedelta(seconds=draw.randint(-(2**31), 2**33), microseconds=draw.choice([0, 0, 1, 999]))
        return moment.replace(tzinfo=datetime.timezone.utc) if kind.time_zone else moment
    if isinstance(kind, pl.Duration):
        return datetime.timedelta(microseconds=draw.randint(-(10**6), 10**9))
    return draw.choice(TEXTS) if isinstance(kind, pl.Enum) else text(draw)


def write_polars(draw, path):
    names = draw.sample(NAMES, draw.randrange(1, 6))
    count = draw.choice([0, 1, 2, 7, 30, 60, 400])
    nulls = draw.choice([0, 0.1, 0.5, 1])
    kinds = {name: polars_type(draw) for name in names}
    frame = pl.DataFrame([pl.Series(name, [polars_value(draw, kind, nulls) for _ in range(count)], kind, strict=False)
                          for name, kind in kinds.items()])
    frame.write_parquet(
        path,
        compression=draw.choice(["uncompressed", "snappy", "gzip", "brotli", "zstd", "lz4"]),
        statistics=draw.choice([True, False, "full"]),
        row_group_size=draw.choice([None, 3, 20]) if count < 100 else None,
        data_page_size=draw.choice([None, 64, 1024]),
    )


def parquet(draw, path):
    path = path.with_suffix(".parquet")
    while True:
        try:
            (write_polars if draw.random() < 0.4 else write_pyarrow)(draw, path)
            file = pq.ParquetFile(path)
            # One after the other: some nested columns are not read across row groups.
            groups = [expect_table(file.read_row_group(at)) for at in range(file.num_row_groups)]
            columns = file.schema_arrow.names
            return path, {"columns": columns, "rows": [row for group in groups for row in group["rows"]]}
        except (pa.ArrowException, pl.exceptions.PolarsError, NotImplementedError, OSError, OverflowError) as error:
            failed(error)
        except BaseException as error:
            if "Panic" not in type(error).__name__:
                raise
            failed(error)


FAILED = {}


def failed(error):
    """Counts what a writer or Python's reader cannot do."""
    name = re.sub(r"-?\d+", "…", f"{type(error).__name__}: {str(error)[:60]}")
    FAILED[name] = FAILED.get(name, 0) + 1


# Text


def csv_field(draw, kind):
    kind = draw.random() if draw.random() < 0.1 else kind
    if kind < 0.4:
        return text(draw)
    if kind < 0.7:
        return draw.choice(["0", "1", "", "NA", "-5", "2.5"]) if draw.random() < 0.8 else draw.choice(["-1", "007", "1.50", ".5", "5.", "1e3", "-2E-3", "+4", " 5 ", "9007199254740991",
                            "9007199254740993", "-9223372036854775808", "18446744073709551616", "1e400", "inf", "-Infinity",
                            "nan", "NaN", "0x1F", "0b11", "0o17", "1_000", "1,5", "1e", "--1", "٣", "1.0000000000000000001"])
    return draw.choice(["", "NA", "N/A", "null", "NULL", "None", "true", "False", "TRUE", "yes", "\xa0", "é\r", "\n"])


def csv_text(draw):
    end = draw.choice(["\n", "\r\n", "\r"])
    delimiter = draw.choice([",", ",", ",", ";", "\t", "|"])
    width = draw.randrange(1, 5)
    header = draw.sample(NAMES, width)
    kinds = [draw.random() for _ in range(width)]
    rows = [header, *([csv_field(draw, kind) for kind in kinds] for _ in range(draw.choice([0, 1, 3, 20])))]
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end,
                        quoting=draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]))
    writer.writerows(rows)
    written = out.getvalue()
    if draw.random() < 0.15:
        written = written.removesuffix(end)
    if draw.random() < 0.15:
        at = draw.randrange(len(written) + 1)
        written = written[:at] + draw.choice([end, "\n", "\r", "\r\n", '"', delimiter, " ", "x", '""']) + written[at:]
    return ("\ufeff" if draw.random() < 0.15 else "") + written, delimiter


def read_csv(written, delimiter):
    """The rows that Python's csv module reads, without blank ones, as DictReader does."""
    try:
        reader = csv.reader(io.StringIO(written.removeprefix("\ufeff"), newline=""), delimiter=delimiter, strict=True)
        rows = [row for row in reader if row]
        if not rows:
            raise ValueError("no header")
        header, *rows = rows
        if any(len(row) != len(header) for row in rows):
            raise ValueError("other numbers of fields")
        if len(set(header)) < len(header):
            raise ValueError("a column twice")
    except (csv.Error, ValueError) as error:
        return {"error": str(error)}
    return {"columns": header, "rows": rows}


NULLS = ["NA", "null", "NaN"]


def typed(value):
    """The number that Python reads of a field, or null. U+FEFF is white space to JavaScript alone."""
    if value == "" or value in NULLS:
        return None
    try:
        value = value.strip("\ufeff")
        return number(int(value)) if value.strip().lstrip("+-").isascii() and "_" not in value else tag("error", value)
    except ValueError:
        try:
            return number(float(value)) if "_" not in value and value.isascii() else tag("error", value)
        except ValueError:
            return tag("error", value)


def csv_file(draw, path):
    written, delimiter = csv_text(draw)
    path = path.with_suffix(".csv")
    path.write_bytes(written.encode())
    expected = read_csv(written, delimiter)
    if "rows" in expected:
        numbers = [[typed(field) for field in row] for row in expected["rows"]]
        expected |= {"nullValues": NULLS, "numbers": numbers}
    return path, {"delimiter": delimiter, **expected}


def json_text(draw, depth=0):
    """JSON of a value, also as no writer writes it."""
    space = lambda: draw.choice(["", "", "", " ", "\t"])
    kind = draw.random()
    if depth < 4 and kind < 0.2:
        return "[" + space() + ",".join(json_text(draw, depth + 1) for _ in range(draw.randrange(4))) + space() + "]"
    if depth < 4 and kind < 0.35:
        return json_object(draw, depth + 1)
    if kind < 0.65:
        return draw.choice(["0", "-0", "-0.0", "1.0", "1E5", "1e-400", "1e400", "0.1", "123456789012345678", "9007199254740991",
                            "9007199254740992", "9007199254740993", "-9007199254740993", "9007199254740993.0", "1e22", "1e23",
                            "12345678901234567890123456789", "0.30000000000000004", "2.2250738585072011e-308",
                            "179769313486231580793e289", str(draw.random()), str(draw.randint(-10**18, 10**18)),
                            "9223372036854775808", "5e-324", "01", ".5", "1.", "+1", "NaN", "Infinity", "0x1"][: 24 if draw.random() < 0.95 else None])
    if kind < 0.75:
        return draw.choice(["true", "false", "null"])
    escapes = ['\\u0041', '\\ud83d\\ude00', '\\ud800', '\\/', '\\"', '\\\\', '\\n', '\\u0000', '9007199254740993', ': 9007199254740993,', '\\"9007199254740993']
    return '"' + "".join(draw.choice([*escapes, "é", "日", "😀", "\u2028", "a", " "]) for _ in range(draw.randrange(6))) + '"'


def json_object(draw, depth=0):
    names = [json.dumps(draw.choice(NAMES), ensure_ascii=draw.random() < 0.5) for _ in range(draw.randrange(5))]
    return "{" + ",".join(f"{name}{draw.choice(['', ' '])}:{json_text(draw, depth)}" for name in names) + "}"


def jsonl_file(draw, path):
    lines = [json_object(draw) for _ in range(draw.choice([1, 2, 8]))]
    if draw.random() < 0.3:
        lines.insert(draw.randrange(len(lines) + 1), draw.choice(["", " ", "\t"]))
    if draw.random() < 0.03:
        lines.append(draw.choice(["[1]", "1", "{", '{"a":1}}', "{'a':1}", "\xa0"]))
    end = draw.choice(["\n", "\r\n"])
    written = ("\ufeff" if draw.random() < 0.1 else "") + end.join(lines) + draw.choice([end, ""])
    path = path.with_suffix(".jsonl")
    path.write_bytes(written.encode())
    if written == "":
        return path, {"error": "empty"}
    try:
        rows = [json.loads(line) for line in written.removeprefix("\ufeff").split("\n") if line.strip() != ""]
        if not all(isinstance(row, dict) for row in rows):
            raise ValueError("no object")
        return path, {"rows": [json_value(row) for row in rows]}
    except ValueError as error:
        return path, {"error": str(error)}


# Fixtures


def features(path, expected):
    """What a file shows: its types, encodings, names and signs."""
    found = {f"error {re.sub('[^a-z ]', '', expected['error'])[:20]}"} if "error" in expected else {"sound"}
    if path.suffix != ".parquet":
        written = path.read_bytes().decode()
        signs = ["\ufeff", "\n\n", "\r\n\r\n", "\r\r", "\r", "\r\n", '""', '","', "NaN", "9007199254740993", "e400", "-0", "\\u",
                 "__proto__", "\\ud800", "constructor", "NA", "0x1F", ";", "\t", "|", "\x00", '\\"9007', "1_000", "[]", "{}"]
        kind = path.suffix
        shown = [sign for sign in signs if sign in written]
        return found | {(kind, *pair) for pair in itertools.combinations(shown, 2)} | \
            {(kind, len(expected.get("columns", []))), (kind, min(len(expected.get("rows", [])), 2))}
    file = pq.ParquetFile(path)
    for group in range(file.num_row_groups):
        for at in range(file.metadata.num_columns):
            chunk, column = file.metadata.row_group(group).column(at), file.schema.column(at)
            kind = f"{chunk.physical_type} {re.sub('[(].*', '', str(column.logical_type))}"
            nested = (column.max_repetition_level, min(column.max_definition_level, 4))
            found |= {(kind, one) for one in chunk.encodings} | {(chunk.compression, nested), (kind, "nested", nested[0]),
                      (kind, chunk.compression), ("groups", min(group, 1)), ("all null", kind, chunk.compression)
                      if chunk.statistics and chunk.statistics.null_count == chunk.num_values else "some"}
    found |= {("name", name) for name in file.schema_arrow.names} | {file.metadata.created_by.split(" ")[0]}
    return found | {str(field.type).split("<")[0].split("[")[0] for field in file.schema_arrow}


def pick(folder, out):
    """Takes the file that shows most that is new for its size, again and again."""
    budget = {".parquet": 300_000, ".csv": 30_000, ".jsonl": 30_000}
    lines = []
    for suffix, most in budget.items():
        rest = {}
        for path in sorted(folder.glob(f"*{suffix}")):
            expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
            line = json.dumps({"name": path.name, "bytes": base64.b64encode(path.read_bytes()).decode(),
                               "expected": expected}, separators=(",", ":"))
            if len(line) < 9000:
                rest[line] = features(path, expected)
        seen, size = set(), 0
        while rest:
            line, found = max(rest.items(), key=lambda one: len(one[1] - seen) / (len(one[0]) + 500))
            del rest[line]
            if not found - seen or size + len(line) > most:
                break
            seen |= found
            size += len(line.encode())
            lines.append(line)
    pathlib.Path(out).write_text("\n".join(lines) + "\n", encoding="utf-8")


def main(folder, seed="1", count="2000"):
    folder = pathlib.Path(folder)
    if seed == "pick":
        return pick(folder, count)
    folder.mkdir(parents=True, exist_ok=True)
    for kind, write in {"parquet": parquet, "csv": csv_file, "jsonl": jsonl_file}.items():
        for at in range(int(count)):
            path, expected = write(random.Random(f"{seed} {kind} {at}"), folder / f"{kind}-{at:04}")
            # JSON of Python would write NaN and infinities, which are tagged.
            path.with_suffix(".json").write_text(json.dumps(expected, allow_nan=False), encoding="utf-8")
    for name, times in FAILED.items():
        print(f"drawn again, {times} times: {name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
