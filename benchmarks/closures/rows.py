"""Typed rows as programs meet them, made from a fixed seed: what the closures of the corpus take."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from morisot.types.element import Type
from morisot.types.infer import of_annotation

SEED = 1874


@dataclass(frozen=True, eq=False)
class Rows:
    """A source of rows of one type."""

    name: str
    annotation: Any
    make: Callable[[random.Random], Any]

    @property
    def type(self) -> Type:
        """The element type."""
        return of_annotation(self.annotation)

    def take(self, n: int) -> list[Any]:
        """The first n rows, always the same."""
        dice = random.Random(f"{SEED} {self.name}")
        return [self.make(dice) for _ in range(n)]


def rows(annotation: Any) -> Callable[[Callable[[random.Random], Any]], Rows]:
    """Registers the function that makes one row."""
    return lambda make: Rows(make.__name__, annotation, make)


# ---- records


class Order(NamedTuple):
    """A line of a shop's orders."""

    id: int
    customer: str
    amount: float
    quantity: int
    country: str
    status: str
    placed: datetime
    coupon: str | None


@dataclass(frozen=True)
class User:
    """A user with an account."""

    name: str
    email: str
    age: int | None
    country: str
    joined: date
    score: float
    active: bool
    tags: list[str] = field(default_factory=list)

    @property
    def is_adult(self) -> bool:
        """Whether the age is known and enough."""
        return self.age is not None and self.age >= 18

    @property
    def domain(self) -> str:
        """The part of the address after the @."""
        return self.email.split("@")[-1].lower()

    def points(self, factor: int) -> float:
        """The score, weighted."""
        return self.score * factor if self.active else 0.0


class Reading(NamedTuple):
    """What a sensor sent."""

    sensor: str
    value: float
    low: float
    high: float
    at: int
    battery: int


@dataclass(frozen=True)
class Trip:
    """A taxi ride."""

    pickup: datetime
    dropoff: datetime
    distance: float
    passengers: int
    fare: float
    tip: float
    payment: int


@dataclass(frozen=True)
class Product:
    """An article in a catalogue."""

    sku: str
    title: str
    price: float
    stock: int
    weight: float | None
    category: str


class Visit(NamedTuple):
    """A request to a web site, parsed."""

    ip: str
    user: str | None
    path: str
    status: int
    size: int
    agent: str
    at: datetime


FIRST = "Ada Bea Carl Dora Emil Franz Greta Hugo Ida José Karl Lena Mia Noé Otto Paula Zoë Rosa Sven Tilda".split()  # noqa: SIM905
LAST = "Smith Jones Müller Garcia Rossi Dubois Novak Larsen O'Neil Kim Silva Brown Weber Ito Ali".split()  # noqa: SIM905
COUNTRIES = ("IT", "FR", "DE", "ES", "AT", "GB", "NO", "PT", "US", "CH")
STATUSES = ("new", "paid", "shipped", "returned", "cancelled")
_WORDS = (
    "the a of and to in is it that for with as was on are by this be from or an at not have but they you which one all "
    "were we when there can more if time so what up out about who get like make no just people into year your good "
    "some could them see other than then now look only come its over think also back after use two how work first well "
    "great terrible excellent broken refund delivery quality cheap expensive fast slow love hate"
)
WORDS = _WORDS.split()
CATEGORIES = ("books", "garden", "toys", "kitchen", "music", "sport")
AGENTS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/120.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_1) Mobile Safari/604.1",
    "curl/8.4.0",
    "Googlebot/2.1 (+http://www.google.com/bot.html)",
    "python-requests/2.31",
)
LEVELS = ("DEBUG", "INFO", "INFO", "INFO", "WARNING", "ERROR")
EPOCH = datetime(2023, 1, 1)  # noqa: DTZ001 - columns of times are naive


def _moment(dice: random.Random) -> datetime:
    return EPOCH + timedelta(seconds=dice.randrange(2 * 365 * 86_400))


def _name(dice: random.Random) -> str:
    return f"{dice.choice(FIRST)} {dice.choice(LAST)}"


def _sentence(dice: random.Random, least: int = 4, most: int = 18) -> str:
    return " ".join(dice.choices(WORDS, k=dice.randint(least, most)))


@rows(Order)
def orders(dice: random.Random) -> Order:
    amount = round(dice.lognormvariate(3.5, 1.0), 2)
    coupon = dice.choice(("SPRING10", "VIP20", "freeship")) if dice.random() < 0.2 else None
    status, country = dice.choice(STATUSES), dice.choice(COUNTRIES)
    return Order(dice.randrange(10**9), _name(dice), amount, dice.randint(1, 9), country, status, _moment(dice), coupon)


@rows(User)
def users(dice: random.Random) -> User:
    first, last = dice.choice(FIRST), dice.choice(LAST)
    host = dice.choice(("gmail.com", "Example.org", "mail.co.uk", "uni.edu"))
    email = f"{first[0]}.{last}{dice.randrange(99)}@{host}" if dice.random() < 0.97 else f"{first}.{host}"
    age = None if dice.random() < 0.1 else dice.randint(9, 90)
    tags = dice.sample(("new", "vip", "beta", "churned", "staff", "eu"), dice.randint(0, 3))
    joined = date(2015, 1, 1) + timedelta(days=dice.randrange(3600))
    score = round(dice.gauss(50, 20), 3)
    return User(f"{first} {last}", email, age, dice.choice(COUNTRIES), joined, score, dice.random() < 0.8, tags)


@rows(Reading)
def readings(dice: random.Random) -> Reading:
    value = round(dice.gauss(21, 6), 2)
    sensor = f"{dice.choice(('roof', 'cellar', 'hall'))}-{dice.randint(1, 40):03d}"
    return Reading(sensor, value, 5.0, 35.0, 1_700_000_000 + dice.randrange(10**7), dice.randint(0, 100))


@rows(Trip)
def trips(dice: random.Random) -> Trip:
    pickup = _moment(dice)
    distance = round(dice.lognormvariate(0.8, 0.8), 2)
    fare = round(3 + distance * 2.5, 2)
    dropoff = pickup + timedelta(seconds=int(120 + distance * 200))
    tip = round(fare * dice.choice((0, 0, 0.1, 0.2)), 2)
    return Trip(pickup, dropoff, distance, dice.randint(1, 6), fare, tip, dice.randint(1, 4))


@rows(Product)
def products(dice: random.Random) -> Product:
    weight = None if dice.random() < 0.15 else round(dice.uniform(0.05, 30), 3)
    sku = f"{dice.choice('ABC')}{dice.randint(0, 9999):04d}-{dice.choice(('S', 'M', 'L', 'XL'))}"
    price = round(dice.lognormvariate(3, 0.7), 2)
    title = _sentence(dice, 2, 6).title()
    return Product(sku, title, price, dice.randint(0, 500), weight, dice.choice(CATEGORIES))


@rows(Visit)
def visits(dice: random.Random) -> Visit:
    address = ".".join(str(dice.randint(1, 254)) for _ in range(4))
    user = None if dice.random() < 0.6 else dice.choice(FIRST).lower()
    status = dice.choice((200, 200, 200, 304, 301, 404, 500))
    return Visit(address, user, _path(dice), status, dice.randrange(10**6), dice.choice(AGENTS), _moment(dice))


def _path(dice: random.Random) -> str:
    base = dice.choice(("/", "/shop", "/shop/item", "/static/app.js", "/api/v1/orders", "/img/logo.png"))
    return f"{base}?id={dice.randrange(1000)}&ref={dice.choice(('mail', 'ad', ''))}" if dice.random() < 0.5 else base


# ---- texts


@rows(str)
def names(dice: random.Random) -> str:
    return " " * dice.randint(0, 2) + _name(dice) + dice.choice(("", " ", "\t", "\n"))


@rows(str)
def sentences(dice: random.Random) -> str:
    text = _sentence(dice)
    return text.capitalize() + dice.choice((".", "!", "?", " ...", "!!"))


@rows(str)
def emails(dice: random.Random) -> str:
    local = f"{dice.choice(FIRST)}.{dice.choice(LAST)}".lower() + dice.choice(("", "+news", "99"))
    return f" {local}@{dice.choice(('Gmail.com', 'example.org', 'mail.co.uk'))}" if dice.random() < 0.95 else local


@rows(str)
def urls(dice: random.Random) -> str:
    host = dice.choice(("www.example.com", "shop.example.org:8080", "news.example.net"))
    return f"{dice.choice(('http', 'https'))}://{host}{_path(dice)}" + dice.choice(("", "#top"))


@rows(str)
def phones(dice: random.Random) -> str:
    digits = "".join(dice.choices("0123456789", k=9))
    return dice.choice(
        (f"+39 {digits[:3]} {digits[3:]}", f"0{digits[:2]}/{digits[2:]}", f"({digits[:3]}) {digits[3:]}")
    )


@rows(str)
def prices(dice: random.Random) -> str:
    amount = dice.lognormvariate(5, 1.5)
    return dice.choice((f"${amount:,.2f}", f"{amount:.2f} EUR", f"{amount:,.2f}", f"£{amount:.0f}"))


@rows(str)
def amounts(dice: random.Random) -> str:
    """Amounts as a form sends them: some are missing or wrong."""
    return dice.choice((f"{dice.uniform(0, 500):.2f}",) * 8 + ("", "n/a"))


@rows(str)
def numbers(dice: random.Random) -> str:
    return str(dice.randrange(-10_000, 100_000))


@rows(str)
def iso_dates(dice: random.Random) -> str:
    return _moment(dice).date().isoformat()


@rows(str)
def us_dates(dice: random.Random) -> str:
    return f"{_moment(dice):%m/%d/%Y}"


@rows(str)
def iso_times(dice: random.Random) -> str:
    return _moment(dice).isoformat()


@rows(str)
def clock_times(dice: random.Random) -> str:
    return f"{dice.randrange(24):02d}:{dice.randrange(60):02d}:{dice.randrange(60):02d}"


@rows(str)
def access_lines(dice: random.Random) -> str:
    visit = visits.make(dice)
    return (
        f'{visit.ip} - {visit.user or "-"} [{visit.at:%d/%b/%Y:%H:%M:%S} +0000] "GET {visit.path} HTTP/1.1" '
        f"{visit.status} {visit.size}"
    )


@rows(str)
def app_lines(dice: random.Random) -> str:
    level = dice.choice(LEVELS)
    took = f" took={dice.randrange(5000)}ms" if dice.random() < 0.7 else ""
    return f"{_moment(dice).isoformat()} {level} [worker-{dice.randint(1, 8)}] user={dice.choice(FIRST)}{took}"


@rows(str)
def csv_lines(dice: random.Random) -> str:
    order = orders.make(dice)
    return f"{order.id},{order.customer},{order.amount},{order.quantity},{order.country},{order.status}"


@rows(str)
def settings(dice: random.Random) -> str:
    return dice.choice(("retries = 3", "host=localhost # the default", "debug=", "path = /tmp/x=y", "# nothing here"))


@rows(str)
def versions(dice: random.Random) -> str:
    return f"v{dice.randint(0, 9)}.{dice.randint(0, 20)}.{dice.randint(0, 99)}" + dice.choice(("", "", "-rc1"))


@rows(str)
def paths(dice: random.Random) -> str:
    folders = "/".join(dice.choices(("home", "data", "raw", "2024", "a.b"), k=dice.randint(1, 4)))
    name = dice.choice(("part-0", "report.final", "README", "x"))
    return f"/{folders}/{name}{dice.choice(('.csv', '.JSON', '.tar.gz', ''))}"


@rows(str)
def colours(dice: random.Random) -> str:
    return f"#{dice.randrange(2**24):06x}"


@rows(str)
def genes(dice: random.Random) -> str:
    return "".join(dice.choices("ACGT", k=dice.randint(20, 60)))


@rows(str)
def codes(dice: random.Random) -> str:
    return f"{dice.choice(('AB', 'cd', 'X'))}-{dice.randrange(100_000):05d}-{dice.choice('QRS')}"


# ---- numbers


@rows(int)
def ints(dice: random.Random) -> int:
    return dice.randrange(1, 1_000_000)


@rows(int)
def signed(dice: random.Random) -> int:
    return dice.randrange(-500_000, 500_000)


@rows(int)
def seconds(dice: random.Random) -> int:
    return dice.randrange(200_000)


@rows(int)
def millis(dice: random.Random) -> int:
    return 1_700_000_000_000 + dice.randrange(10**10)


@rows(int)
def small(dice: random.Random) -> int:
    return dice.randrange(0, 60)


@rows(int)
def years(dice: random.Random) -> int:
    return dice.randrange(1900, 2100)


@rows(float)
def floats(dice: random.Random) -> float:
    return dice.uniform(-1000, 1000)


@rows(float)
def positive(dice: random.Random) -> float:
    return dice.uniform(0.01, 1000)


@rows(float)
def probabilities(dice: random.Random) -> float:
    return dice.random()


@rows(float | None)
def maybe_floats(dice: random.Random) -> float | None:
    return None if dice.random() < 0.2 else dice.uniform(-10, 50)


@rows(tuple[int, int])
def int_pairs(dice: random.Random) -> tuple[int, int]:
    return dice.randrange(1, 100_000), dice.randrange(1, 10_000)


@rows(tuple[float, float])
def points(dice: random.Random) -> tuple[float, float]:
    return dice.uniform(-10, 10), dice.uniform(-10, 10)


@rows(tuple[float, float, float, float])
def boxes(dice: random.Random) -> tuple[float, float, float, float]:
    x, y = dice.uniform(0, 100), dice.uniform(0, 100)
    return x, y, x + dice.uniform(0, 50), y + dice.uniform(0, 50)


@rows(tuple[float, float, float, float])
def journeys(dice: random.Random) -> tuple[float, float, float, float]:
    return dice.uniform(40, 60), dice.uniform(-5, 20), dice.uniform(40, 60), dice.uniform(-5, 20)


@rows(tuple[str, int])
def counts(dice: random.Random) -> tuple[str, int]:
    return dice.choice(WORDS), dice.randrange(500)


@rows(tuple[str, float | None])
def maybe_scores(dice: random.Random) -> tuple[str, float | None]:
    return dice.choice(FIRST), None if dice.random() < 0.1 else dice.uniform(0, 100)


@rows(date)
def days(dice: random.Random) -> date:
    return _moment(dice).date()


@rows(datetime)
def moments(dice: random.Random) -> datetime:
    return _moment(dice)


@rows(tuple[date, date])
def day_pairs(dice: random.Random) -> tuple[date, date]:
    first = _moment(dice).date()
    return first, first + timedelta(days=dice.randint(-40, 400))


# ---- collections


@rows(list[int])
def int_lists(dice: random.Random) -> list[int]:
    return [dice.randrange(-50, 100) for _ in range(dice.randint(1, 12))]


@rows(list[float])
def float_lists(dice: random.Random) -> list[float]:
    return [dice.uniform(0, 100) for _ in range(dice.randint(2, 10))]


@rows(list[str])
def word_lists(dice: random.Random) -> list[str]:
    return dice.choices(WORDS, k=dice.randint(1, 9))


@rows(list[tuple[str, int]])
def baskets(dice: random.Random) -> list[tuple[str, int]]:
    return [(dice.choice(CATEGORIES), dice.randint(1, 5)) for _ in range(dice.randint(1, 6))]


@rows(dict[str, int])
def counters(dice: random.Random) -> dict[str, int]:
    return {key: dice.randrange(100) for key in dice.sample(("views", "clicks", "carts", "buys"), dice.randint(1, 4))}


@rows(dict[str, str])
def documents(dice: random.Random) -> dict[str, str]:
    document = {
        "type": dice.choice(("click", "view", "buy")),
        "user": dice.choice(FIRST),
        "id": str(dice.randrange(10**6)),
    }
    if dice.random() < 0.7:
        document["price"] = f"{dice.uniform(1, 200):.2f}"
    if dice.random() < 0.3:
        document["tags"] = ",".join(dice.sample(("a", "b", "c"), 2))
    return document


@rows(dict[str, float])
def features(dice: random.Random) -> dict[str, float]:
    return {"income": dice.uniform(0, 1e5), "debt": dice.uniform(0, 5e4), "age": float(dice.randint(18, 80))}
