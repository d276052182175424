#!/usr/bin/env bash
# hyparquet 1.33.0 reads three kinds of valid Parquet values as others, without an error.
#
# - A decimal becomes a JavaScript number, whatever its precision: 12345678901234567.89 becomes 12345678901234568. An id
#   or an amount of money kept as a decimal, because a float would round it, is rounded by the reader. (An int64 becomes a
#   BigInt, which is exact.)
# - A moment becomes a Date of whole milliseconds. It is cut towards 1970, not downwards: one microsecond before 1970
#   becomes 1970, so that the order by day or year changes there.
# - A row is a plain object that is filled by assignment, so that a column called `__proto__`, a valid name, is missing.
#
# Seen with hyparquet 1.33.0 and Node 20.20.2, of a file that pyarrow 26.0.1 wrote:
#   written  1969-12-31 23:59:59.999999  12345678901234567.89  columns at, amount, __proto__
#   read     1970-01-01T00:00:00.000Z    12345678901234568     columns at, amount
#
# Fails where this has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyarrow==26.0.1
venv/bin/python - <<'PYTHON'
from datetime import datetime
from decimal import Decimal

import pyarrow
import pyarrow.parquet

table = pyarrow.table({
    "at": pyarrow.array([-1], pyarrow.timestamp("us")),
    "amount": pyarrow.array([Decimal("12345678901234567.89")], pyarrow.decimal128(19, 2)),
    "__proto__": pyarrow.array([1], pyarrow.int32()),
})
pyarrow.parquet.write_table(table, "rows.parquet")
(row,) = pyarrow.parquet.read_table("rows.parquet").to_pylist()
assert row == {"at": datetime(1969, 12, 31, 23, 59, 59, 999999), "amount": Decimal("12345678901234567.89"), "__proto__": 1}
print("written ", row["at"], "", row["amount"], " columns", ", ".join(row))
PYTHON
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund hyparquet@1.33.0
cat >read.mjs <<'NODE'
import assert from "node:assert";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";

const [row] = await parquetReadObjects({ file: await asyncBufferFromFile("rows.parquet") });
console.log("read    ", row.at.toISOString(), "  ", row.amount, "  columns", Object.keys(row).join(", "));
assert.strictEqual(row.at.getTime(), 0);
assert.strictEqual(row.amount, 12345678901234568);
assert.deepStrictEqual(Object.keys(row), ["at", "amount"]);
NODE
node read.mjs
