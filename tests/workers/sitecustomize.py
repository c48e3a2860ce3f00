"""Lets the Python processes that Spark starts import the installed PySpark.

Spark starts one for each operator with a state, with an archive of PySpark's sources first on its path: half a second
to compile what it imports. What `engines/spark/session/worker_daemon.py` does for workers does not work for these.
"""

import sys

sys.path[:] = [entry for entry in sys.path if not entry.endswith("site-packages/pyspark/python/lib/pyspark.zip")]
