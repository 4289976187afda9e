"""Tables from files: reading, rows that belong together, predictors, and writing.

Excel and Parquet files need optional libraries.
"""

from thinrank.tables.encoding import Encoding
from thinrank.tables.errors import TableError
from thinrank.tables.pairing import pair
from thinrank.tables.read import checksum, read_cells, read_table
from thinrank.tables.table import ReadOptions, Table
from thinrank.tables.write import write_table

__all__ = [
    "Encoding",
    "ReadOptions",
    "Table",
    "TableError",
    "checksum",
    "pair",
    "read_cells",
    "read_table",
    "write_table",
]
