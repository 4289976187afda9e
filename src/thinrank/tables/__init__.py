"""Tables from files: reading, rows that belong together, predictors and responses, and writing."""

from thinrank.tables.columns import read_table
from thinrank.tables.errors import TableError
from thinrank.tables.pairing import read_pair
from thinrank.tables.read import ReadOptions, checksum
from thinrank.tables.write import write_table

__all__ = ["ReadOptions", "TableError", "checksum", "read_pair", "read_table", "write_table"]
