"""Tables from files: reading, rows that belong together, predictors, and writing.

Files of NumPy and delimited text files need no optional library; Parquet needs pandas and
pyarrow.
"""

from thinrank.tables.align import align, join
from thinrank.tables.encoding import Encoding
from thinrank.tables.errors import TableError
from thinrank.tables.options import ReadOptions
from thinrank.tables.read import checksum, read_table
from thinrank.tables.table import Table
from thinrank.tables.write import write_table

__all__ = [
    "Encoding",
    "ReadOptions",
    "Table",
    "TableError",
    "align",
    "checksum",
    "join",
    "read_table",
    "write_table",
]
