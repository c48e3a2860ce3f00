"""The queries of Nexmark in the SQL of DuckDB, over the tables persons, auctions, bids and labels."""

VALID = """
    SELECT a.*, b.bidder, b.price FROM bids b JOIN auctions a ON b.auction = a.id
    WHERE b.price >= a.reserve AND b.date_time >= a.date_time AND b.date_time < a.expires
"""

QUERIES = {
    "q0": "SELECT * FROM bids",
    "q1": "SELECT auction, bidder, price * 908 // 1000 AS price, channel, url, date_time FROM bids",
    "q2": "SELECT auction, price FROM bids WHERE auction % 123 = 0",
    "q3": """
        SELECT p.name, p.city, p.state, a.id FROM auctions a JOIN persons p ON a.seller = p.id
        WHERE a.category = 10 AND p.state IN ('or', 'id', 'ca')
    """,
    "q4": f"""
        SELECT category, avg(final) FROM
            (SELECT id, category, max(price) AS final FROM ({VALID}) GROUP BY id, category)
        GROUP BY category
    """,
    "q5": """
        WITH panes AS (
            SELECT auction, date_time - date_time % 2000 AS pane, count(*) AS n FROM bids GROUP BY ALL
        ), counts AS (
            SELECT pane - ago.range AS start, auction, sum(n)::BIGINT AS n
            FROM panes, range(0, 10000, 2000) ago GROUP BY ALL
        ), most AS (
            SELECT start, max(n) AS n FROM counts GROUP BY start
        )
        SELECT start + 10000, start + 12000, list({'auction': auction, 'n': n} ORDER BY auction)
        FROM counts JOIN most USING (start, n) GROUP BY start
    """,
    "q6": f"""
        WITH final AS (
            SELECT id, seller, expires, max(price) AS price FROM ({VALID}) GROUP BY id, seller, expires
        )
        SELECT seller, avg(price) OVER (closed ROWS 9 PRECEDING) FROM final
        WINDOW closed AS (PARTITION BY seller ORDER BY expires, id)
        QUALIFY row_number() OVER closed >= 10
    """,
    "q7": """
        WITH highest AS (
            SELECT date_time - date_time % 10000 AS start, max(price) AS price FROM bids GROUP BY start
        )
        SELECT start, start + 10000, any_value(b) FROM bids b JOIN highest h
        ON b.date_time - b.date_time % 10000 = start AND b.price = h.price GROUP BY start
    """,
    "q8": """
        SELECT p.id, p.name, a.reserve FROM auctions a JOIN persons p
        ON p.id = a.seller AND p.date_time // 10000 = a.date_time // 10000
    """,
    "q9": f"SELECT id, seller, arg_max(bidder, price), max(price) FROM ({VALID}) GROUP BY id, seller",
    "q11": """
        WITH moments AS (
            SELECT bidder, date_time, count(*) AS n FROM bids GROUP BY ALL
        ), starts AS (
            SELECT *, (date_time - lag(date_time) OVER by_time > 1000)::INT AS new FROM moments
            WINDOW by_time AS (PARTITION BY bidder ORDER BY date_time)
        ), sessions AS (
            SELECT *, sum(coalesce(new, 1)) OVER (PARTITION BY bidder ORDER BY date_time) AS session FROM starts
        )
        SELECT bidder, min(date_time), max(date_time) + 1000, sum(n)::BIGINT FROM sessions GROUP BY bidder, session
    """,
    "q12": "SELECT bidder, count(*) FROM bids GROUP BY bidder",
    "q13": "SELECT auction, bidder, price, label FROM bids JOIN labels ON auction % 100 = id",
}
