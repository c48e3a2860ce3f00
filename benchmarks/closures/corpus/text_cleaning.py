"""Text as it comes, made tidy."""

import re
import string
import unicodedata

from benchmarks.closures.entry import closure, other_loop
from benchmarks.closures.rows import emails, names, paths, phones, sentences, word_lists

STOP_WORDS = {"the", "a", "of", "and", "to", "in", "is", "it", "that", "for", "with", "as", "on", "are", "by", "this"}
POLITE = {"u": "you", "gr8": "great", "luv": "love"}
NO_PUNCTUATION = str.maketrans("", "", string.punctuation)

closure(names, "tidy", str)(lambda s: s.strip().lower())
closure(sentences, "words", list[str])(lambda s: s.lower().split())
closure(sentences, "word_count", int)(lambda s: len(s.split()))
closure(sentences, "is_shouting", bool)(lambda s: s.isupper())
closure(sentences, "ends_in_exclamation", bool)(lambda s: s.endswith(("!", "!!")))
closure(sentences, "first_word", str)(lambda s: s.split()[0] if s.split() else "")
closure(sentences, "reversed_text", str)(lambda s: s[::-1])


@closure(names)
def initials(name: str) -> str:
    return "".join(part[0] for part in name.split()).upper()


@closure(names)
def last_name_first(name: str) -> str:
    parts = name.split()
    if len(parts) < 2:
        return name.strip()
    return f"{parts[-1]}, {' '.join(parts[:-1])}"


@closure(names)
def titled(name: str) -> str:
    return name.strip().title()


@closure(names)
def split_name(name: str) -> tuple[str, str]:
    first, _, last = name.strip().partition(" ")
    return first, last


@closure(names)
def without_apostrophes(name: str) -> str:
    return name.replace("'", "").replace("-", " ").strip()


@closure(names)
def without_accents(name: str) -> str:
    decomposed = unicodedata.normalize("NFKD", name)
    return "".join(c for c in decomposed if not unicodedata.combining(c))


@closure(sentences)
def one_space(text: str) -> str:
    return " ".join(text.split())


@closure(sentences)
def without_stop_words(text: str) -> list[str]:
    return [word for word in text.lower().split() if word not in STOP_WORDS]


@closure(sentences)
def without_punctuation(text: str) -> str:
    return text.translate(NO_PUNCTUATION)


@closure(sentences)
def stripped_words(text: str) -> list[str]:
    return [word.strip(".,!?").lower() for word in text.split() if word.strip(".,!?")]


@closure(sentences)
def only_letters(text: str) -> str:
    return re.sub(r"[^a-z ]", "", text.lower())


@closure(sentences)
def slug(title: str) -> str:
    return "-".join(title.lower().strip(".!? ").split())


@closure(sentences)
def shortened(text: str) -> str:
    return text if len(text) <= 40 else text[:37].rstrip() + "..."


@closure(sentences)
def vowels(text: str) -> int:
    return sum(1 for c in text.lower() if c in "aeiou")


@closure(sentences)
def longest_word(text: str) -> str:
    return max(text.split(), key=len)


@closure(sentences)
def distinct_words(text: str) -> int:
    return len(set(text.lower().split()))


@closure(sentences)
def average_word_length(text: str) -> float:
    words = text.split()
    return sum(len(word) for word in words) / len(words) if words else 0.0


@closure(sentences)
def mentions_money(text: str) -> bool:
    lowered = text.lower()
    return any(word in lowered for word in ("refund", "cheap", "expensive"))


@closure(sentences)
def is_question(text: str) -> bool:
    return text.rstrip().endswith("?") or text.lower().startswith(("how", "what", "who", "which"))


@closure(sentences)
def sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:].lower() if text else text


@closure(sentences)
def bigrams(text: str) -> list[str]:
    words = text.lower().split()
    return [f"{a} {b}" for a, b in zip(words, words[1:])]


@closure(sentences)
def exclamations(text: str) -> int:
    return text.count("!") + text.count("?")


@closure(sentences)
def is_palindrome(text: str) -> bool:
    letters = [c for c in text.lower() if c.isalnum()]
    return letters == letters[::-1]


@closure(emails)
def normal_email(email: str) -> str:
    local, _, domain = email.strip().lower().partition("@")
    return f"{local.split('+')[0]}@{domain}"


@closure(emails)
def masked_email(email: str) -> str:
    email = email.strip()
    if "@" not in email:
        return "***"
    local, domain = email.split("@", 1)
    return local[0] + "*" * (len(local) - 1) + "@" + domain


@closure(phones)
def digits_only(phone: str) -> str:
    return "".join(c for c in phone if c.isdigit())


@closure(phones)
def international(phone: str) -> str:
    digits = re.sub(r"\D", "", phone)
    return "+" + digits if phone.startswith("+") else "+39" + digits.lstrip("0")


@closure(paths)
def extension(path: str) -> str:
    name = path.rsplit("/", 1)[-1]
    return name.rsplit(".", 1)[-1].lower() if "." in name else ""


@closure(word_lists)
def joined(words: list[str]) -> str:
    return ", ".join(word.capitalize() for word in words)


@closure(word_lists)
def expanded(words: list[str]) -> list[str]:
    return [POLITE.get(word, word) for word in words]


@other_loop(sentences)
def capital_words(text: str) -> str:
    parts = []
    for word in text.split():
        if len(word) > 3:
            parts.append(word.capitalize())
        else:
            parts.append(word)
    return " ".join(parts)


@other_loop(sentences)
def run_lengths(text: str) -> str:
    result = ""
    last, count = "", 0
    for c in text:
        if c == last:
            count += 1
        else:
            if count:
                result += f"{last}{count}"
            last, count = c, 1
    return result + f"{last}{count}"
