"""Dicts and lists as they come out of JSON."""

from benchmarks.closures.entry import closure, other_loop
from benchmarks.closures.rows import baskets, counters, documents, int_lists, word_lists

DEFAULTS = {"views": 0, "clicks": 0}

closure(documents, "type_of", str)(lambda d: d["type"])
closure(documents, "is_buy", bool)(lambda d: d.get("type") == "buy")
closure(documents, "has_price", bool)(lambda d: "price" in d)
closure(counters, "views", int)(lambda d: d.get("views", 0))
closure(counters, "total", int)(lambda d: sum(d.values()))
closure(word_lists, "count_words", int)(len)


@closure(documents)
def price_of(d: dict[str, str]) -> float:
    return float(d["price"]) if "price" in d else 0.0


@closure(documents)
def user_key(d: dict[str, str]) -> tuple[str, int]:
    return d["user"].lower(), int(d["id"])


@closure(documents)
def tags_of(d: dict[str, str]) -> list[str]:
    return d.get("tags", "").split(",") if d.get("tags") else []


@closure(documents)
def summary(d: dict[str, str]) -> str:
    return f"{d['type']} by {d['user']}" + (f" for {d['price']}" if "price" in d else "")


@closure(documents)
def public(d: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in d.items() if key not in ("user", "id")}


@closure(documents)
def upper_keys(d: dict[str, str]) -> dict[str, str]:
    return {key.upper(): value for key, value in d.items()}


@closure(documents)
def stamped(d: dict[str, str]) -> dict[str, str]:
    return {**d, "source": "web"}


@closure(documents)
def key_list(d: dict[str, str]) -> list[str]:
    return sorted(d)


@closure(documents)
def flat(d: dict[str, str]) -> str:
    return "&".join(f"{key}={value}" for key, value in d.items())


@closure(counters)
def click_rate(d: dict[str, int]) -> float:
    views = d.get("views", 0)
    return d.get("clicks", 0) / views if views else 0.0


@closure(counters)
def busiest(d: dict[str, int]) -> str:
    return max(d, key=d.get)  # type: ignore[arg-type]


@closure(counters)
def busiest_item(d: dict[str, int]) -> str:
    return max(d.items(), key=lambda item: item[1])[0]


@closure(counters)
def above_ten(d: dict[str, int]) -> list[str]:
    return [key for key, value in d.items() if value > 10]


@closure(counters)
def doubled(d: dict[str, int]) -> dict[str, int]:
    return {key: value * 2 for key, value in d.items()}


@closure(counters)
def with_defaults(d: dict[str, int]) -> dict[str, int]:
    return DEFAULTS | d


@closure(counters)
def is_complete(d: dict[str, int]) -> bool:
    return all(key in d for key in ("views", "clicks"))


@closure(counters)
def any_large(d: dict[str, int]) -> bool:
    return any(value > 90 for value in d.values())


@closure(baskets)
def pieces(basket: list[tuple[str, int]]) -> int:
    return sum(amount for _, amount in basket)


@closure(baskets)
def categories(basket: list[tuple[str, int]]) -> list[str]:
    return sorted({name for name, _ in basket})


@closure(baskets)
def basket_text(basket: list[tuple[str, int]]) -> str:
    return "; ".join(f"{amount}x {name}" for name, amount in basket)


@closure(baskets)
def largest(basket: list[tuple[str, int]]) -> tuple[str, int]:
    return max(basket, key=lambda item: item[1])


@closure(baskets)
def toys(basket: list[tuple[str, int]]) -> int:
    return sum(amount for name, amount in basket if name == "toys")


@closure(baskets)
def has_books(basket: list[tuple[str, int]]) -> bool:
    return any(name == "books" for name, _ in basket)


@closure(int_lists)
def evens(xs: list[int]) -> list[int]:
    return [x for x in xs if x % 2 == 0]


@closure(int_lists)
def ends(xs: list[int]) -> tuple[int, int]:
    return xs[0], xs[-1]


@closure(int_lists)
def top_three(xs: list[int]) -> list[int]:
    return sorted(xs, reverse=True)[:3]


@closure(int_lists)
def numbered(xs: list[int]) -> list[tuple[int, int]]:
    return [(i, x) for i, x in enumerate(xs)]


@closure(int_lists)
def is_sorted(xs: list[int]) -> bool:
    return all(a <= b for a, b in zip(xs, xs[1:]))


@closure(int_lists)
def uniques(xs: list[int]) -> list[int]:
    return list(set(xs))


@closure(int_lists)
def reversed_list(xs: list[int]) -> list[int]:
    return xs[::-1]


@closure(word_lists)
def lengths(words: list[str]) -> dict[str, int]:
    return {word: len(word) for word in words}


@closure(word_lists)
def longest_first(words: list[str]) -> list[str]:
    return sorted(words, key=lambda word: (-len(word), word))


@closure(word_lists)
def letters(words: list[str]) -> list[str]:
    return [c for word in words for c in word]


@other_loop(word_lists)
def word_counts(words: list[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return counts


@other_loop(baskets)
def by_category(basket: list[tuple[str, int]]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for name, amount in basket:
        totals[name] = totals.get(name, 0) + amount
    return totals
