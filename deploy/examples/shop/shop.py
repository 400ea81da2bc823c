#!/usr/bin/env python3
"""The shop in Python. Usage: KINDEX_URL=http://127.0.0.1:4512 ./shop.py"""

import json
import os
import secrets
from pathlib import Path

import kindex

COPY = Path(os.environ.get("COPY", "orders.json"))
db = kindex.connect(os.environ.get("KINDEX_URL", "http://127.0.0.1:4512"))


def sign_up(user, email):
    """The user must be new; that the e-mail address is unique is the index's work."""
    try:
        db.put(("users", user), {"email": email}, versionstamp=None)
    except kindex.KindexError as error:
        if error.code != "unique-violation":
            raise
        print(f"{email} belongs to {error.existing_key[1]}")
    else:
        print(f"{user} signs up")


def order(number, user, item, count):
    """The order and the stock that it takes are one commit: both are stored, or neither."""
    price = db.get(("items", item)).value["price"]
    value = {
        "user": user,
        "item": item,
        "count": count,
        "total": price * count,
        "status": "open",
        "date": f"2026-11-0{number}",
    }
    commit = (
        db.atomic()
        .check_exists(("users", user))
        .check(("orders", number), None)
        .sum(("stock", item), -count, min=0)
        .set(("orders", number), value)
    )
    try:
        if not commit.commit().ok:
            raise RuntimeError(f"{user} is unknown, or there is an order {number}")
    except kindex.KindexError as error:
        if error.code != "out-of-bounds":
            raise
        print(f"order {number}: only {db.get(('stock', item)).value} {item} left")
    else:
        print(f"order {number}: {user} buys {count} {item}")


def orders(status):
    """Newest first. The bounds of the list are values of the index's fields."""
    found = db.list((status,), index="orders_by_status", reverse=True)
    print(f"{status}:", *(entry.key[1] for entry in found))


def set_status(number, status):
    db.patch(("orders", number), {"status": status})
    print(f"order {number} is {status}")


def sign_in(user, device):
    db.put(("sessions", secrets.token_hex(16)), {"user": user, "device": device}, ttl="30m")


def sessions(user):
    found = db.list((user,), index="sessions_by_user")
    devices = sorted(entry.value["device"] for entry in found)
    print(f"sessions of {user}:", " ".join(devices) or "none")


def sales(status):
    totals = db.aggregate("orders_sales", (status,))
    print(f"{totals.count} {status} for {totals.sum['/total']}")


def copy_changes():
    """The file has the orders, and the versionstamp up to which it has them. What has
    changed since is applied to the orders; then the file is replaced."""
    copy = json.loads(COPY.read_text()) if COPY.exists() else {"since": "", "orders": {}}
    since = copy["since"]
    copy["changes"] = 0
    for entry in db.list(start=(since,) if since else None, index="orders_changed"):
        if entry.versionstamp <= since:
            continue
        copy["since"] = entry.versionstamp
        copy["changes"] += 1
        if entry.deleted:
            copy["orders"].pop(str(entry.key[1]), None)
        else:
            copy["orders"][str(entry.key[1])] = entry.value
    new = COPY.with_suffix(".new")
    new.write_text(json.dumps(copy))
    new.replace(COPY)
    print(f"copied {copy['changes']}, the copy has {len(copy['orders'])}")


db.apply_indexes(json.loads(Path(__file__).with_name("indexes.json").read_text()))
stock = db.atomic()
for item, price, count in (("pen", 2, 5), ("ink", 9.5, 1)):
    stock.set(("items", item), {"price": price}).set(("stock", item), count)
stock.commit()

sign_up("ada", "ada@x.org")
sign_up("bo", "bo@x.org")
sign_up("carl", "ADA@x.org")
order(1, "ada", "pen", 3)
order(2, "bo", "ink", 1)
order(3, "bo", "pen", 3)
copy_changes()
orders("open")
set_status(1, "paid")
orders("open")
orders("paid")
sales("open")
sales("paid")
copy_changes()
sign_in("ada", "phone")
sign_in("ada", "laptop")
sessions("ada")
db.delete_range(("ada",), index="sessions_by_user")
sessions("ada")
