"""The proof: random closures on adversarial values, in every form, against CPython.

`python -m tests.properties.proof --pairs 100000 --seed 1` generates closures from a typed grammar, runs each of them
in the form the compiler gives it (a column on Spark, a kernel, a stage, a recognised fold) and compares every single
result with CPython's. A form may refuse a value, which Python then does; it may never give another value, nor give
one where CPython raises.
"""
