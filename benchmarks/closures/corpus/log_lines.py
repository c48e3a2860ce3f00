"""Lines of logs: what they say, and which matter."""

import re

from benchmarks.closures.entry import closure, other_loop
from benchmarks.closures.rows import Visit, access_lines, app_lines, visits

BOTS = ("bot", "crawler", "spider")
ACCESS = re.compile(r'^(\S+) \S+ (\S+) \[([^\]]+)\] "(\S+) (\S+) [^"]+" (\d{3}) (\d+)$')

closure(app_lines, "level", str)(lambda line: line.split()[1])
closure(app_lines, "is_error", bool)(lambda line: " ERROR " in line)
closure(app_lines, "is_serious", bool)(lambda line: line.split(" ")[1] in ("ERROR", "WARNING"))
closure(access_lines, "address", str)(lambda line: line.split(" ", 1)[0])
closure(access_lines, "status_text", str)(lambda line: line.split()[-2])
closure(visits, "failed", bool)(lambda v: v.status >= 500)
closure(visits, "is_large_ok", bool)(lambda v: v.status == 200 and v.size > 100_000)
closure(visits, "hourly", tuple[str, int])(lambda v: (v.path.split("?")[0], v.at.hour))


@closure(app_lines)
def worker_number(line: str) -> int:
    start = line.index("[worker-") + len("[worker-")
    return int(line[start : line.index("]", start)])


@closure(app_lines)
def took(line: str) -> int:
    if "took=" not in line:
        return 0
    return int(line.split("took=")[1].removesuffix("ms"))


@closure(app_lines)
def took_by_regex(line: str) -> int:
    found = re.search(r"took=(\d+)ms", line)
    return int(found[1]) if found else 0


@closure(app_lines)
def user_of(line: str) -> str:
    return next((word[5:] for word in line.split() if word.startswith("user=")), "?")


@closure(app_lines)
def pairs(line: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in line.split() if "=" in word)


@closure(app_lines)
def minute(line: str) -> str:
    return line[:16].replace("T", " ")


@closure(app_lines)
def severity(line: str) -> int:
    match line.split()[1]:
        case "DEBUG":
            return 10
        case "INFO":
            return 20
        case "WARNING":
            return 30
        case "ERROR":
            return 40
        case _:
            return 0


@closure(app_lines)
def without_time(line: str) -> str:
    return line[line.find(" ") + 1 :]


@closure(access_lines)
def access_fields(line: str) -> tuple[str, int, int] | None:
    found = ACCESS.match(line)
    if not found:
        return None
    return found[1], int(found[6]), int(found[7])


@closure(access_lines)
def size(line: str) -> int:
    return int(line.rsplit(" ", 1)[1])


@closure(access_lines)
def requested_path(line: str) -> str:
    request = line.split('"')[1]
    return request.split(" ")[1].split("?")[0]


@closure(access_lines)
def status_class(line: str) -> str:
    return line.split()[-2][0] + "xx"


@closure(access_lines)
def is_static(line: str) -> bool:
    return any(suffix in line for suffix in (".js", ".css", ".png"))


@closure(access_lines)
def network(line: str) -> str:
    return ".".join(line.split(" ")[0].split(".")[:2])


@closure(visits)
def is_bot(v: Visit) -> bool:
    agent = v.agent.lower()
    return any(bot in agent for bot in BOTS) or agent.startswith(("curl", "python"))


@closure(visits)
def is_mobile(v: Visit) -> bool:
    return "Mobile" in v.agent or "iPhone" in v.agent


@closure(visits)
def browser(v: Visit) -> str:
    if "Chrome/" in v.agent:
        return "chrome"
    if "Safari/" in v.agent:
        return "safari"
    return v.agent.split("/")[0].lower()


@closure(visits)
def is_private(v: Visit) -> bool:
    first, second, *_ = v.ip.split(".")
    return first == "10" or (first == "192" and second == "168") or (first == "172" and 16 <= int(second) <= 31)


@closure(visits)
def ip_number(v: Visit) -> int:
    a, b, c, d = [int(part) for part in v.ip.split(".")]
    return (a << 24) + (b << 16) + (c << 8) + d


@closure(visits)
def human_size(v: Visit) -> str:
    if v.size < 1024:
        return f"{v.size} B"
    if v.size < 1024 * 1024:
        return f"{v.size / 1024:.1f} KB"
    return f"{v.size / 1024 / 1024:.1f} MB"


@closure(visits)
def session_key(v: Visit) -> str:
    return f"{v.user or v.ip}|{v.at:%Y%m%d}"


@closure(visits)
def outcome(v: Visit) -> str:
    return {2: "ok", 3: "moved", 4: "client", 5: "server"}.get(v.status // 100, "other")


@closure(visits)
def depth(v: Visit) -> int:
    return v.path.split("?")[0].count("/")


@other_loop(access_lines)
def parameters(line: str) -> dict[str, str]:
    found: dict[str, str] = {}
    path = line.split('"')[1].split(" ")[1]
    if "?" in path:
        for pair in path.split("?", 1)[1].split("&"):
            key, _, value = pair.partition("=")
            found[key] = value
    return found
