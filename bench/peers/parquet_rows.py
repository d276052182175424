"""Writes the Parquet files of packages/data/test/fixtures/parquet, and their rows as JSONL, with pyarrow.

  pip install pyarrow==26.0.1
  python parquet_rows.py FOLDER
"""

import decimal
import json
import pathlib
import sys

import pyarrow as pa
import pyarrow.parquet as pq

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)


def row(at):
    turn = {"role": "user", "content": f"How far is {at}? 🦉"}
    answer = {"role": "assistant", "content": "é" * (at % 5)}
    return {
        "id": at,
        "text": None if at % 7 == 3 else f"text {at % 4}",
        "score": at / 4,
        "right": at % 3 == 0,
        "ids": None if at % 5 == 4 else list(range(at % 4)),
        "messages": [turn, answer][: at % 3],
        "meta": None if at % 6 == 5 else {"source": "a", "tags": [["x"], []][: at % 3]},
        "split": "train" if at < 20 else "test",
    }


rows = [row(at) for at in range(30)]
message = pa.struct([("role", pa.string()), ("content", pa.string())])
schema = pa.schema(
    [
        ("id", pa.int64()),
        ("text", pa.string()),
        ("score", pa.float32()),
        pa.field("right", pa.bool_(), nullable=False),
        ("ids", pa.list_(pa.int32())),
        ("messages", pa.list_(message)),
        ("meta", pa.struct([("source", pa.string()), ("tags", pa.list_(pa.list_(pa.string())))])),
        ("split", pa.dictionary(pa.int8(), pa.string())),
    ]
)
table = pa.Table.from_pylist(rows, schema=schema)
for codec, options in {
    "none": {},
    "snappy": {},
    "gzip": {"data_page_version": "2.0"},
    "brotli": {"data_page_version": "2.0", "use_dictionary": False},
    "zstd": {"data_page_size": 64, "write_page_checksum": True},
    "lz4": {"data_page_version": "2.0", "data_page_size": 64, "write_page_index": True},
}.items():
    path = folder / f"{codec}.parquet"
    pq.write_table(table, path, compression=codec, row_group_size=12, **options)
delta = {"id": "DELTA_BINARY_PACKED", "text": "DELTA_LENGTH_BYTE_ARRAY", "score": "BYTE_STREAM_SPLIT"}
flat = table.select(list(delta))
pq.write_table(flat, folder / "delta.parquet", use_dictionary=False, column_encoding=delta)
prefixes = {"text": "DELTA_BYTE_ARRAY"}
pq.write_table(flat, folder / "prefixes.parquet", use_dictionary=False, column_encoding=prefixes)
nulls = pa.table({"a": pa.array([None] * 300, pa.string()), "b": pa.array(range(300))})
pq.write_table(nulls, folder / "nulls.parquet", compression="lz4")
halves = pa.array([1.5, 65504, 5.96e-8, float("nan"), -0.0, float("inf")], pa.float16())
split = {"x": "BYTE_STREAM_SPLIT"}
pq.write_table(pa.table({"x": halves}), folder / "halves.parquet", use_dictionary=False, column_encoding=split)
names = ["a.b", "c d", "é", "__proto__", "constructor", "toString", "", "a"]
odd = [pa.array([at, None]) for at in range(7)] + [pa.array([{"b": "x", "__proto__": 1}, None])]
pq.write_table(pa.table(odd, names=names), folder / "names.parquet")
big = {
    "int64": pa.array([2**53 - 1, 2**53 + 1]),
    "uint64": pa.array([0, 2**64 - 1], pa.uint64()),
    "decimal": pa.array([decimal.Decimal(12), decimal.Decimal(2**53 + 1)], pa.decimal128(38, 0)),
    "cents": pa.array([decimal.Decimal("0.30"), decimal.Decimal("123456789012345678.90")], pa.decimal128(30, 2)),
    "list": pa.array([[1], [2, 2**53 + 1]]),
    "sound": pa.array([decimal.Decimal("0.30"), decimal.Decimal("-12.05")], pa.decimal128(7, 2)),
}
pq.write_table(pa.table(big), folder / "big.parquet")
(folder / "rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
