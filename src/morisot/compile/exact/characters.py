"""Characters that Python and Spark treat differently, found by trying every code point.

Spark 4.3 changes case by ICU 78 (Unicode 17), CPython 3.11 by Unicode 14. Over all code points, alone and around a
final sigma, lower() and upper() differ on the 311 characters below and on no others: letters and marks that Unicode
14 does not have, and six that it has and that changed since: U+019B, U+0264, U+A7D3 and U+A7D5 got a counterpart in
the other case, U+0295 and U+1171E another property. Newer Pythons differ on fewer: all characters on which 3.12, 3.13
and 3.14 differ from 3.11 (111, 111 and 209) are among these.
"""

from __future__ import annotations

import unicodedata

WHITESPACE = "".join(map(chr, (*range(9, 14), *range(28, 33), 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B))))
WHITESPACE += "\u2028\u2029\u202f\u205f\u3000"
"""The 29 characters for which str.isspace() holds; Java's \\s has six."""

_CASED_DIFFERENTLY = """
19b 264 295 897 ece 1acf-1add 1ae0-1aeb 1c89-1c8a a7cb-a7cf a7d2-a7d5 a7da-a7dc a7f1 10d4e 10d50-10d65 10d69-10d6d
10d6f-10d85 10ec5 10efa-10eff 11241 113bb-113c0 113ce 113d0 113d2 113e1-113e2 1171e 11b60 11b62-11b64 11b66 11dd9
11f00-11f01 11f36-11f3a 11f40 11f42 11f5a 13439-13440 13447-13455 1611e-16129 1612d-1612f 16d40-16d42 16d6b-16d6c
16ea0-16eb8 16ebb-16ed3 16ff2-16ff3 1df25-1df2a 1e030-1e06d 1e08f 1e4eb-1e4ef 1e5ee-1e5ef 1e6e3 1e6e6 1e6ee-1e6ef
1e6f5 1e6ff
"""


def _character_class(ranges: str) -> str:
    return "[" + "".join("-".join(chr(int(code, 16)) for code in one.split("-")) for one in ranges.split()) + "]"


_ICU_KNOWS_ALL = int(unicodedata.unidata_version.split(".")[0]) <= 17
CASED_DIFFERENTLY = _character_class(_CASED_DIFFERENTLY) if _ICU_KNOWS_ALL else "[^\\x00-\\x7f]"
"""A regular expression for the characters whose case is left to Python."""
BEYOND_LATIN = "[^\\x00-\\u017f]" if _ICU_KNOWS_ALL else CASED_DIFFERENTLY
"""A superset of these characters, in ranges. Texts without it need no further test, which takes a tenth of the time."""
