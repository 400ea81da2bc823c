"""The Python client against a real server, whose address is in KINDEX_URL."""

import asyncio
import contextlib
import http.server
import itertools
import json
import os
import pickle
import socket
import threading
import time
import unittest
import urllib.request
from datetime import datetime, timezone
from unittest import mock
from urllib.parse import quote, urlsplit

import kindex
from kindex import (
    Aggregate,
    AsyncKindex,
    BigInt,
    BulkEntry,
    By,
    KindexError,
    KvU64,
    Map,
    Media,
    Range,
    Typed,
)

URL = os.environ["KINDEX_URL"]


def raw(method, path, text, kind="application/json"):
    """What the service answers, as its text."""
    request = urllib.request.Request(
        URL + path, text.encode(), {"Content-Type": kind}, method=method)
    with urllib.request.urlopen(request) as answer:
        return answer.read().decode()


def stored(*key):
    """The text of an entry's value as the service has it."""
    entry = raw("POST", "/get", json.dumps({"keys": [key]}))
    value = entry[entry.index('"value":' if '"value":' in entry.split('"typed"')[0] else '"typed":'):]
    return value[:value.index(',"versionstamp"')]


def number(value):
    return {"type": "number", "value": value}


def string(value):
    return {"type": "string", "value": value}


def chunks(first, endless):
    """An answer that does not end: at most so much as nobody should take."""
    yield first
    for _ in range(1 << 20):
        yield endless


@contextlib.contextmanager
def listening(*answers):
    """An address where the n-th connection gets the n-th answer, later ones the last."""
    listener = socket.create_server(("127.0.0.1", 0))
    taken = []

    def answer(connection, parts):
        with connection, contextlib.suppress(OSError):
            connection.recv(65536)
            for part in parts:
                connection.sendall(part)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass

    def accept():
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                parts = answers[min(len(taken), len(answers) - 1)]
                taken.append(threading.Thread(target=answer, args=(connection, parts)))
                taken[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        accepting.join()
        for thread in taken:
            thread.join()


def head(status, *lines):
    return "\r\n".join((f"HTTP/1.1 {status} x", "Connection: close", *lines, "", "")).encode()


class Answers(unittest.TestCase):
    """Answers that Kindex does not give, but what is before it, or in its place."""

    def error_of(self, url, call=lambda db: db.count(), retries=0):
        with kindex.connect(url, retries=retries) as db:
            with self.assertRaises(KindexError) as caught:
                call(db)
        return caught.exception

    def test_an_answer_that_sends_on_is_an_error(self):
        for status in (300, 301, 302, 303, 304, 307, 308):
            with listening([head(status, "Location: http://x.example/count")]) as url:
                for call in (lambda db: db.count(), lambda db: db.put(("a",), 1),
                             lambda db: next(db.watch([("a",)]))):
                    error = self.error_of(url, call)
                    self.assertEqual((error.status, error.code), (status, "no-answer"))
                    self.assertIn("http://x.example/count", str(error))

    def test_a_success_that_is_not_from_kindex_is_an_error(self):
        for text in (b"<html>", b"[]", b"{}", b"", b"\xff"):
            with listening([head(200), text]) as url:
                for call in (lambda db: db.count(), lambda db: db.get(("a",)),
                             lambda db: db.put(("a",), 1), lambda db: next(db.list()),
                             lambda db: db.get_index("i")):
                    error = self.error_of(url, call)
                    self.assertEqual((error.status, error.code), (200, "no-answer"))

    def test_a_pause_that_an_answer_asks_for_is_bounded(self):
        for asked, most in (("99999999", 60), ("9" * 400, 60), ("1", 1), ("\xb2", 0.05), ("soon", 0.05)):
            later = head(503, f"Retry-After: {asked}").decode().encode("latin-1")
            with listening([later], [head(502)]) as url:
                with mock.patch("kindex.http.time.sleep") as sleep:
                    self.assertEqual(self.error_of(url, retries=3).status, 502)
            (paused,) = [call.args[0] for call in sleep.call_args_list]
            self.assertLessEqual(paused, most)
            self.assertGreaterEqual(paused, most / 2)

    @mock.patch("kindex.http.ANSWER_BYTES_MAX", 1 << 20)
    def test_an_answer_without_an_end_is_an_error(self):
        block = b"x" * 65536
        chunked = head(200, "Transfer-Encoding: chunked")
        for answer in (
            chunks(head(200), block),
            chunks(head(500), block),
            chunks(head(200, f"Content-Length: {10**18}"), block),
            chunks(chunked, b"10000\r\n" + block + b"\r\n"),
            chunks(chunked + b"%x\r\n" % 10**18, block),
            chunks(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        ):
            with listening(answer) as url:
                self.assertEqual(
                    str(self.error_of(url, retries=3)), "the answer has more than 1048576 bytes")

    @mock.patch("kindex.client.ANSWER_BYTES_MAX", 1 << 20)
    def test_an_event_without_an_end_is_an_error(self):
        events = head(200, "Content-Type: text/event-stream")
        for endless in (b"data: " + b"x" * 65536, b"data: x\n"):
            with listening(chunks(events, endless)) as url:
                error = self.error_of(url, lambda db: next(db.watch([("a",)])))
                self.assertIn("an event of more than 1048576 bytes", str(error))

    def test_an_answer_of_a_byte_now_and_then_is_an_error(self):
        for first in (b"", head(200)):
            clock = itertools.count(step=10)
            with listening(chunks(first, b"x")) as url:
                with mock.patch("kindex.http._now", lambda: next(clock)):
                    self.assertIn("less than 1024 bytes per second", str(self.error_of(url, retries=3)))

    def test_a_large_answer_may_take_its_time(self):
        clock = itertools.count(step=10)
        body = b'{"count":1}' + b" " * 1000000
        with listening([head(200, f"Content-Length: {len(body)}"), body]) as url:
            with mock.patch("kindex.http._now", lambda: next(clock)):
                with kindex.connect(url) as db:
                    self.assertEqual(db.count(), 1)

    def test_an_answer_that_is_cut_off_is_none(self):
        with listening([head(200, "Content-Length: 99"), b'{"count":1}']) as url:
            self.assertEqual(self.error_of(url).status, 0)

    @mock.patch("kindex.http.time.sleep")
    def test_a_dead_address_is_an_error_at_once(self, sleep):
        with listening([]) as url:
            pass
        error = self.error_of(url, retries=8)
        self.assertEqual((error.status, error.code), (0, "no-answer"))
        self.assertIsInstance(error.__cause__, ConnectionRefusedError)
        self.assertIn("Connection refused", str(error))
        self.assertIsInstance(self.error_of("http://x.invalid").__cause__, OSError)
        sleep.assert_not_called()

    @mock.patch("kindex.http.time.sleep")
    def test_a_service_that_has_answered_may_restart(self, sleep):
        with kindex.connect("http://127.0.0.1:1", retries=3) as db:
            with listening([head(200), b'{"count":1}']) as url:
                db._transport._parts = urlsplit(url)
                self.assertEqual(db.count(), 1)
            with self.assertRaises(KindexError):
                db.count()
        self.assertEqual(sleep.call_count, 3)


class Entries(unittest.TestCase):
    def setUp(self):
        self.db = kindex.connect(URL)
        self.addCleanup(self.db.close)

    def test_values_come_back_as_they_were_put(self):
        values = [
            None, True, "a\U0001F600", 1.5, 2**80, {"a": [1, {"b": None}], "é": "x"}, [],
            BigInt(10**30), float("inf"), KvU64(2**64 - 1), b"\x00\xff\x07",
            datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=timezone.utc),
            {1, 2}, {1: {"x"}, "y": 2}, Map(a=1), Map(), {"big": BigInt(1)},
            (1, "a\ud800"), Media(b"\1", "image/png"), datetime(999, 1, 1, tzinfo=timezone.utc), Typed("RegExp", "/a/gi"),
        ]
        for i, value in enumerate(values):
            self.db.put(("values", i), value)
            entry = self.db.get(("values", i))
            value = list(value) if isinstance(value, tuple) else value
            values[i] = value
            self.assertEqual(entry.value, value)
            self.assertIsInstance(entry.value, type(value))
            self.assertRegex(entry.versionstamp, "^[0-9a-f]{20}$")
        listed = list(self.db.list(("values",), page_size=7))
        self.assertEqual([entry.value for entry in listed], values)
        self.assertEqual(self.db.count(("values",)), len(values))

    def test_numbers_come_back_or_keep_their_text(self):
        numbers = [
            ("12345678901234567891", 12345678901234567891), ("1.10", 1.1), ("-0.0", -0.0),
            ("-0", -0.0), ("1e2", 100.0), ("5e-324", 5e-324), ("0.000", 0.0), ("1E22", 1e22),
            ("12345678901234567891.5", None), ("-1e-400", None), ("1e-999999999", None),
            ("0.1000000000000000055511151231257827", None), ("4.9406564584124654e-324", None),
            ("0." + "9" * 5000, None), ("9" * 308, int("9" * 308)),
        ]
        for i, (text, value) in enumerate(numbers):
            raw("PUT", f"/kv/numbers/={i}", f'{{"a":[{text}]}}')
            read = self.db.get(("numbers", i)).value["a"][0]
            if value is None:
                self.assertEqual(read, Typed("number", text))
            else:
                self.assertEqual(repr(read), repr(value))
            before = stored("numbers", i)
            self.db.put(("numbers", i), self.db.get(("numbers", i)).value)
            after = stored("numbers", i)
            if value is None or isinstance(value, int):
                self.assertEqual(after, before)
            self.assertEqual(repr(self.db.get(("numbers", i)).value["a"][0]), repr(read))
        listed = [entry.value["a"][0] for entry in self.db.list(("numbers",), page_size=4)]
        self.assertEqual(len(listed), len(numbers))
        result = (self.db.atomic().set(("n",), Typed("number", "1e-400"), returns="new").commit()
                  .results[0].value)
        self.assertEqual(result, Typed("number", "1e-400"))
        changes = self.db.watch([("n",)])
        self.assertEqual(next(changes).entries[0].value, Typed("number", "1e-400"))
        changes.close()

    def test_a_number_beside_bytes_is_exact_or_refused(self):
        for exact in (2**53, 2**60, -2**80, 0, 10**22, 1.5, Typed("number", "1.50")):
            self.db.put(("beside",), {"id": exact, "b": b"x"})
            found = self.db.get(("beside",)).value["id"]
            self.assertEqual(found, 1.5 if isinstance(exact, Typed) else exact)
            self.assertIs(type(found), float if found == 1.5 else int)
        for inexact in (1234567890123456789, 2**60 + 1, 1152921504606847000, 10**400,
                        Typed("number", "0.30000000000000001"), Typed("number", "1e400"),
                        Typed("Array", [number(2**60 + 1)])):
            with self.assertRaisesRegex(ValueError, "/a/0/id"):
                self.db.put(("beside",), {"a": [{"id": inexact}], "b": b"x"})
        self.db.put(("beside",), {"id": BigInt(1234567890123456789), "b": b"x"})
        self.assertEqual(self.db.get(("beside",)).value["id"], 1234567890123456789)

    def test_a_number_in_a_key_is_exact_or_refused(self):
        exact = [-2**80, -1.5, 0, 2**53, 2**60, 10**22, 2**80]
        for part in exact:
            self.db.put(("exact", part), part)
        keys = [entry.key[1] for entry in self.db.list(("exact",))]
        self.assertEqual(keys, exact)
        self.assertEqual([type(key) for key in keys], [type(part) for part in exact])
        for part in exact:
            self.assertEqual(self.db.get(("exact", part)).value, part)
        for inexact in (2**53 + 1, 1152921504606847000, 10**400):
            for use in (self.db.get, self.db.delete, lambda key: self.db.put(key, 1),
                        lambda key: list(self.db.list(key)), lambda key: list(self.db.list(start=key))):
                with self.assertRaisesRegex(ValueError, "would lose digits"):
                    use(("exact", inexact))
        # The digits that an entry of JavaScript has find it by its index.
        self.db.declare_index("by_digits", ("digits",), ["/id"], unique=True)
        raw("PUT", "/kv/digits/a", '{"id":1152921504606847000}')
        entry = self.db.get_by_index("by_digits", 1152921504606847000)
        self.assertEqual(entry.value["id"], 1152921504606847000)
        self.db.drop_index("by_digits")

    def test_every_value_is_read_and_written_back_unchanged(self):
        empty = {"type": "object", "value": {}}
        nested = {"type": "Array", "value": [number(1)]}
        date = "1999-12-31T23:59:59.999Z"
        wires = {
            "a set of objects": {"type": "Set", "value": [empty]},
            "a set of equal lists": {"type": "Set", "value": [nested, nested]},
            "a set of 1, true and 1n": {"type": "Set", "value": [
                number(1), {"type": "boolean", "value": True}, {"type": "bigint", "value": "1"}]},
            "a set in order": {"type": "Set", "value": [string(letter) for letter in "hgfedcba"]},
            "a set of a regexp": {"type": "Set", "value": [{"type": "RegExp", "value": "/a/g"}]},
            "a map of objects": {"type": "Map", "value": [[empty, number(1)]]},
            "an empty map": {"type": "Map", "value": []},
            "a map of texts": {"type": "Map", "value": [[string("a"), number(1)]]},
            "a map of 1 and 1n": {"type": "Map", "value": [
                [number(1), nested], [{"type": "bigint", "value": "1"}, nested]]},
            "a map to undefined": {"type": "Map", "value": [[number(2), {"type": "undefined"}]]},
            "undefined": {"type": "undefined"},
            "a member undefined": {"type": "object", "value": {
                "u": {"type": "undefined"}, "n": {"type": "null", "value": None}}},
            "holes": {"type": "Array", "value": [
                {"type": "hole"}, number("NaN"), number("-0"), number("-Infinity")]},
            "infinity": number("Infinity"),
            "year 0": {"type": "Date", "value": "0000-01-01T00:00:00.000Z"},
            "year 1": {"type": "Date", "value": "0001-01-01T00:00:00.000Z"},
            "year 999": {"type": "Date", "value": "0999-01-01T00:00:00.001Z"},
            "year 9999": {"type": "Date", "value": "9999-12-31T23:59:59.999Z"},
            "before year 0": {"type": "Date", "value": "-000001-12-31T00:00:00.000Z"},
            "the last date": {"type": "Date", "value": "+275760-09-13T00:00:00.000Z"},
            "no date": {"type": "Date", "value": "Invalid Date"},
            "an error": {"type": "Error", "value": {
                "message": "no", "stack": "at x", "cause": number(1152921504606847000)}},
            "an error without members": {"type": "TypeError", "value": {}},
            "a regexp": {"type": "RegExp", "value": "/a\\/b/gi"},
            "half a pair": {"type": "string", "value": "a\ufffd", "utf16": "YQAA2A"},
            "half a pair inside": {"type": "object", "value": {
                "s": {"type": "string", "value": "\ufffdb", "utf16": "AN1iAA"}}},
            "a long bigint": {"type": "bigint", "value": "-" + "7" * 9000},
            "a long bigint inside": {"type": "Array", "value": [{"type": "bigint", "value": "8" * 5000}]},
            "a counter": {"type": "KvU64", "value": "18446744073709551615"},
            "a buffer that grows": {
                "type": "ArrayBuffer", "value": "AQID", "byteLength": 3, "maxByteLength": 8},
            "a picture": {
                "type": "Uint8Array", "value": "AQID", "byteLength": 3, "mediaType": "image/png"},
            "floats": {"type": "Float64Array", "value": "AAAAAAAA8D8", "byteLength": 8},
            "a value that contains itself": {"type": "V8", "value": "_w9vIgFhXgB7AQ"},
        }
        for name, wire in wires.items():
            raw("PUT", f"/kv/wires/{quote(name)}", json.dumps(wire), "application/vnd.kindex.typed+json")
        values = {entry.key[1]: entry.value for entry in self.db.list(("wires",), page_size=3)}
        self.assertEqual(set(values), set(wires))
        for name, value in values.items():
            before = stored("wires", name)
            for copy in (value, pickle.loads(pickle.dumps(value))):
                self.db.put(("wires", name), copy)
                self.assertEqual(stored("wires", name), before, name)
        self.assertEqual(values["a set of objects"], Typed("Set", [empty]))
        self.assertEqual(values["a set in order"], set("abcdefgh"))
        self.assertEqual(values["a map of texts"], Map(a=1))
        self.assertEqual(values["a member undefined"], {"u": Typed("undefined"), "n": None})
        self.assertEqual(values["year 999"], datetime(999, 1, 1, 0, 0, 0, 1000, tzinfo=timezone.utc))
        self.assertEqual(values["half a pair"], "a\ud800")
        self.assertEqual(values["a picture"].media_type, "image/png")
        self.assertEqual(values["a picture"], b"\1\2\3")

    def test_what_cannot_be_stored_as_it_is_is_refused(self):
        for wrong in (object(), {1: {"a": object()}}, datetime(2020, 1, 1),
                      {"a": {"b": Media(b"x", "image/png")}}, range(3)):
            with self.assertRaises((TypeError, ValueError)):
                self.db.put(("refused",), wrong)
        for wrong in (BigInt(1), {1: 2}, b"x", {"a": [float("nan")]}):
            operation = {"op": "set", "path": "/a", "value": wrong}
            with self.assertRaisesRegex(TypeError, "'/mutations/0/ops/0/value"):
                self.db.atomic().operations(("refused",), [operation]).commit()
        self.assertIsNone(self.db.get(("refused",)).versionstamp)
        self.db.declare_index("by_a", ("refused",), ["/a"], unique=True)
        with self.assertRaises(KindexError):
            self.db.put_by_index("by_a", ("x",), None, create=("refused", 1))
        self.db.drop_index("by_a")

    def test_a_set_that_was_read_and_changed_keeps_its_order(self):
        wire = {"type": "Set", "value": [string(letter) for letter in "dcba"]}
        raw("PUT", "/kv/ordered", json.dumps(wire), "application/vnd.kindex.typed+json")
        letters = self.db.get(("ordered",)).value
        letters.add("e")
        letters.discard("c")
        self.db.put(("ordered",), letters)
        self.assertEqual(json.loads(stored("ordered").split(":", 1)[1])["value"],
                         [string(letter) for letter in "dbae"])

    def test_an_entry_that_expires_after_all_datetimes_is_listed(self):
        raw("POST", "/atomic", '{"mutations":[{"type":"set","key":["late",1],"value":1,'
            '"expiresAt":9007199254740991}]}')
        (entry,) = self.db.list(("late",))
        self.assertEqual((entry.value, entry.expires_at.year), (1, 9999))

    def test_a_nan_with_a_sign_is_another_key(self):
        # Deno makes such a part of Infinity - Infinity.
        raw("PUT", "/kv/nans/=-NaN", "1")
        raw("PUT", "/kv/nans/=NaN", "2")
        keys = [entry.key for entry in self.db.list(("nans",))]
        self.assertEqual([self.db.get(key).value for key in keys], [1, 2])
        for key in keys:
            self.db.put(key, self.db.get(key).value + 10)
        self.assertEqual([entry.value for entry in self.db.list(("nans",))], [11, 12])

    def test_keys_have_parts_of_every_type_in_order(self):
        keys = [("k", b"\x01"), ("k", "a/b c?+"), ("k", BigInt(2**60)), ("k", 7), ("k", 7.5),
                ("k", False), ("k", True)]
        for key in keys:
            self.db.put(key, 1)
        self.assertEqual([entry.key for entry in self.db.list(("k",))], keys)
        last = list(self.db.list(("k",), reverse=True, limit=2))
        self.assertEqual([entry.key for entry in last], [keys[6], keys[5]])
        self.assertIs(type(last[0].key[1]), bool)
        with self.assertRaises(TypeError):
            self.db.get("users")

    def test_versions_decide(self):
        first = self.db.put(("v",), 1, versionstamp=None)
        self.assertIsNone(self.db.put(("v",), 2, versionstamp=None))
        self.assertGreater(self.db.put(("v",), 2, versionstamp=first), first)
        self.assertEqual(self.db.delete(("v",)).value, 2)
        self.assertIsNone(self.db.get(("v",)).versionstamp)

    def test_a_commit_is_all_or_nothing_and_has_results(self):
        commit = (
            self.db.atomic()
            .check_none(("shop", "orders"))
            .set(("shop", "orders", 1), {"total": 3}, ttl="1h")
            .sum(("shop", "count"), 2, min=0, max=5, returns="new")
            .operations(("shop", "log"), [{"op": "set", "path": "/a/b", "value": 1}])
            .commit()
        )
        self.assertTrue(commit.ok)
        self.assertEqual([r and r.value for r in commit.results], [None, 2, None])
        self.assertGreater(
            self.db.get(("shop", "orders", 1)).expires_at, datetime.now(timezone.utc))
        again = (
            self.db.atomic().check_where(("shop", "orders", 1), "/total", ge=4)
            .delete(("shop", "orders", 1)).commit()
        )
        self.assertFalse(again.ok)
        self.assertEqual(again.failed_checks[0]["key"], ("shop", "orders", 1))
        with self.assertRaises(KindexError) as caught:
            self.db.atomic().sum(("shop", "count"), 9, max=5).commit()
        self.assertEqual((caught.exception.code, caught.exception.status), ("out-of-bounds", 409))

    def test_indexes(self):
        index = self.db.declare_index(
            "users_by_email", ("users",), [{"path": "/email", "fold": "lower"}], unique=True)
        self.assertEqual(index["state"], "ready")
        ada = {"name": "Ada", "email": "Ada@x.org"}
        self.db.put(("users", "ada"), ada)
        self.assertEqual(self.db.get_by_index("users_by_email", "ADA@x.org").key, ("users", "ada"))
        self.assertIsNone(self.db.get_by_index("users_by_email", "eve@x.org"))
        with self.assertRaises(KindexError) as caught:
            self.db.put(("users", "b"), ada)
        error = caught.exception
        self.assertEqual(
            (error.code, error.index, error.value, error.existing_key, error.attempted_key),
            ("unique-violation", "users_by_email", ("ada@x.org",), ("users", "ada"),
             ("users", "b")))
        self.db.put_by_index("users_by_email", ("ada@x.org",), {**ada, "name": "A. L."})
        self.assertEqual(self.db.get(("users", "ada")).value["name"], "A. L.")
        bob = {"name": "Bob", "email": "bob@x.org"}
        self.db.put_by_index("users_by_email", ("bob@x.org",), bob, create=("users", "bob"))
        self.db.atomic().patch(By("users_by_email", ("bob@x.org",)), {"seen": True}).commit()
        self.assertEqual(self.db.get(("users", "bob")).value, {**bob, "seen": True})
        named = By("users_by_email", ("bob@x.org",))
        self.assertTrue(self.db.atomic().check_exists(named).commit().ok)
        self.assertEqual(self.db.count(index="users_by_email"), 2)

    def test_only_some_members_and_only_entries_that_meet_conditions(self):
        for name, age in (("ada", 36), ("bob", 17), ("eve", 40)):
            self.db.put(("people", name), {"name": name, "age": age, "town": "Rome"})
        adults = self.db.list(("people",), where={"path": "/age", "ge": 18}, fields=["/name"])
        self.assertEqual([entry.value for entry in adults], [{"name": "ada"}, {"name": "eve"}])
        conditions = [{"path": "/age", "in": [17, 40]}, {"path": "/town", "exists": True}]
        some = self.db.list(("people",), where=conditions, keys=True)
        self.assertEqual([entry.key[1] for entry in some], ["bob", "eve"])
        self.assertEqual(self.db.get(("people", "ada"), fields=["/age"]).value, {"age": 36})
        self.assertEqual(self.db.count(("people",), estimate=True), 3)
        self.db.put(("pets", "rex"), {"of": "ada"})
        expand = ["/of:people", "/none:people"]
        expanded = self.db.get(("pets", "rex"), expand=expand).expanded
        self.assertEqual((expanded["/of"].key, expanded["/none"]), (("people", "ada"), None))
        (pet,) = self.db.list(("pets",), expand=expand)
        self.assertEqual(pet.expanded["/of"].value["age"], 36)
        (child,) = self.db.children(("people",), start=("people", "b"), limit=1)
        self.assertEqual(tuple(child), (("people", "bob"), True, 0, True))
        with self.assertRaises(TypeError):
            self.db.list(("people",), fields="/age")

    def test_several_values_and_several_ranges_are_one_list(self):
        self.db.declare_index("paints_by_color", ("paints",), ["/color", "/n"])
        colors = ("red", "blue", "green", "red", "blue")
        self.db.bulk(
            BulkEntry(("paints", n), {"color": color, "n": n}) for n, color in enumerate(colors))

        def listed(entries):
            return [entry.key[1] for entry in entries]

        values = [("red",), ("blue",)]
        index = "paints_by_color"
        self.assertEqual(listed(self.db.list(index=index, in_=values, page_size=3)), [0, 3, 1, 4])
        self.assertEqual(listed(self.db.list(index=index, in_=values, order="merge")), [0, 1, 3, 4])
        ranges = [Range(("red",), index=index, reverse=True),
                  Range(start=("paints", 1), end=("paints", 4))]
        self.assertEqual(
            listed(self.db.list_ranges(ranges, page_size=2, keys=True)), [3, 0, 1, 2])
        merged = [Range(("paints",), end=("paints", 2)), ranges[1]]
        self.assertEqual(
            listed(self.db.list_ranges(merged, order="merge", fields=["/n"], limit=4)),
            [0, 1, 2, 3])
        found = self.db.explain(
            ("paints",), where={"path": "/color", "eq": "red"}, order=["/n"])
        self.assertEqual(found["index"], index)
        self.assertTrue(found["request"].startswith("/list?index=paints_by_color"))
        advised = self.db.explain(
            ("paints",), depth=1, where=[{"path": "/size", "eq": 1}, {"key": 1, "gt": 1}],
            order=["/n"], reverse=True, fields=["/n"])
        self.assertEqual(advised["conditions"][1], {"key": 1, "gt": 1})
        self.assertIsNone(advised["index"])

    def test_totals_are_added_up(self):
        store = {"aggregate": {"count": True, "sum": [{"path": "/total", "scale": 2}, "/items"]}}
        self.db.apply_indexes({
            "order_totals": {"prefix": ("orders",), "fields": ["/user"], "store": store},
            "order_count": {"prefix": ("orders",), "fields": [], "store": {"aggregate": {}}},
        })
        for user, total, items in (("ada", 1.25, 2), ("bob", 3, 1), ("ada", 4.5, 1)):
            self.db.add(("orders",), {"user": user, "total": total, "items": items})
        ada = self.db.aggregate("order_totals", ("ada",))
        self.assertEqual(ada, Aggregate(2, {"/total": "5.75", "/items": "3"}, 1, 0))
        bob = self.db.aggregate("order_totals", start=("b",), end=("c",))
        self.assertEqual((bob.count, bob.sum["/total"]), (1, "3.00"))
        self.assertEqual(self.db.aggregate("order_count").count, 3)

    def test_an_entry_under_a_new_key_comes_after_those_before(self):
        moment = datetime(2026, 1, 2, tzinfo=timezone.utc)
        added = [self.db.add(("log",), {"at": moment}), self.db.add(("log",), "x", ttl="1h")]
        listed = list(self.db.list(("log",)))
        self.assertEqual([(e.key, e.value, e.versionstamp) for e in listed],
                         [(e.key, e.value, e.versionstamp) for e in added])
        stamp = self.db.atomic().set(("stamped",), 1, suffix="versionstamp").commit().versionstamp
        self.assertEqual(self.db.get(("stamped", stamp)).value, 1)

    def test_many_entries_are_stored_up_to_the_first_that_is_refused(self):
        many = (BulkEntry(("bulk", i), "x" * 500, ttl="1h") for i in range(3000))
        self.assertEqual(self.db.bulk(many), 3000)
        self.assertEqual(self.db.count(("bulk",)), 3000)
        wrong = [BulkEntry(("bulk", i), "y" * 500) for i in range(2500)] + [BulkEntry((), 1)]
        with self.assertRaises(KindexError) as caught:
            self.db.bulk(wrong)
        self.assertEqual((caught.exception.code, caught.exception.problem["stored"]), ("bad-key", 2500))
        self.assertEqual(self.db.get(("bulk", 2499)).value[0], "y")
        with self.assertRaises(KindexError) as caught:
            self.db.bulk([BulkEntry((), 1)])
        self.assertEqual((caught.exception.code, caught.exception.problem["stored"]), ("bad-key", 0))
        later = datetime(2100, 1, 1, tzinfo=timezone.utc)
        self.assertEqual(self.db.bulk([BulkEntry(("bulk", "typed"), BigInt(1), expires_at=later)]), 1)
        typed = self.db.get(("bulk", "typed"))
        self.assertEqual((typed.value, typed.expires_at), (1, later))
        self.assertEqual(self.db.bulk([]), 0)

    def test_the_entries_of_a_range_are_patched_and_deleted(self):
        self.db.bulk(BulkEntry(("patched", n), {"n": n}) for n in range(1200))
        self.assertEqual(self.db.patch_range(("patched",), patch={"seen": True}, ttl="1h"), 1200)
        operations = [{"op": "sum", "path": "/n", "value": 1}]
        self.assertEqual(self.db.patch_range(
            start=("patched", 1), end=("patched", 3), operations=operations), 2)
        self.assertEqual(self.db.get(("patched", 2)).value, {"n": 3, "seen": True})
        self.assertEqual(self.db.patch_range(("patched",), ttl="2h"), 1200)
        self.db.declare_index("patched_by_n", ("patched",), ["/n"])
        self.assertEqual(self.db.patch_range(("patched",), end=("patched", 1), patch={"n": -1}), 1)
        self.assertEqual(self.db.patch_range(index="patched_by_n", end=(0,), patch={"low": True}), 1)
        self.assertEqual(self.db.delete_range(index="patched_by_n", start=(1190,)), 10)
        self.assertEqual(self.db.delete_range(start=("patched", 1), end=("patched", 2)), 1)
        self.assertEqual(self.db.delete_range(("patched",)), 1189)
        self.db.drop_index("patched_by_n")

    def test_bounds_are_of_keys_or_of_the_values_of_an_index(self):
        self.db.declare_index("bounds_by_n", ("bounds",), ["/n"])
        self.db.bulk(BulkEntry(("bounds", n), {"n": 10 - n}) for n in range(9))

        def numbers(found):
            return [one.key[-1] for one in found]

        start, end = ("bounds", 2), ("bounds", 5)
        self.assertEqual(numbers(self.db.list(start=start, end=end)), [2, 3, 4])
        self.assertEqual(self.db.count(start=start, end=end), 3)
        children = self.db.children(("bounds",), start=start, page_size=3)
        self.assertEqual(numbers(children), [2, 3, 4, 5, 6, 7, 8])
        index = "bounds_by_n"
        self.assertEqual(numbers(self.db.children(index=index, start=(2,), end=(4,))), [2, 3])
        self.assertEqual(self.db.delete_range(index=index, start=(2,), end=(4,)), 2)
        order = [{"path": "/n", "fold": "lower", "order": "desc"}, {"key": 1}]
        self.assertIsNone(self.db.explain(("bounds",), order=order)["index"])
        self.db.drop_index(index)

    def test_a_dry_run_shows_the_results_and_changes_nothing(self):
        dry = self.db.atomic().sum(("dry",), 2, returns="new").dry_run()
        self.assertEqual((dry.ok, dry.versionstamp, dry.results[0].value), (True, None, 2))
        self.assertIsNone(self.db.get(("dry",)).versionstamp)

    def test_checks_and_mutations_of_every_kind(self):
        stamp = self.db.put(("kinds", 1), {"n": 1})
        later = datetime(2100, 1, 1, tzinfo=timezone.utc)

        def checked():
            return (
                self.db.atomic().check_exists(("kinds", 1)).check_exists(("kinds", 9), False)
                .check_at_most(("kinds", 1), stamp).check_prefix_at_most(("kinds",), stamp)
                .check_where(("kinds", 1), "/n", ne=2, gt=0, lt=2, le=1, eq=1, in_=[1], exists=True)
            )

        done = (
            checked()
            .touch(("kinds", 1), "1h", ttl_of="keep")
            .sum(("kinds", 2), 5, expires_at=later, ttl_of="new", max=3, out="clamp")
            .min(("kinds", 3), 5, ttl="1h", returns="new").max(("kinds", 3), 6, expires_at=later)
            .patch(("kinds", 1), {"m": 2}, ttl="1h", ttl_of="always")
            .operations(("kinds", 1), [{"op": "remove", "path": "/m"}], ttl="2h")
            .touch(("kinds", 1), expires_at=later)
            .delete(("kinds", 4), returns="old")
            .commit()
        )
        self.assertTrue(done.ok)
        self.assertEqual(done.results[2].value, 6)
        self.assertEqual([f["check"] for f in checked().commit().failed_checks], [2, 3])
        self.assertEqual([self.db.get(("kinds", n)).value for n in (2, 3)], [3, 6])
        self.assertEqual(self.db.get(("kinds", 1)).expires_at, later)
        self.assertIsNone(self.db.patch(("kinds", 1), {}, ttl="1h", versionstamp=stamp))

    def test_indexes_become_those_of_declarations_and_migrate(self):
        moved = {"prefix": ("moved", BigInt(1)), "fields": ["/a"], "depth": 1, "missing": "null",
                 "where": {"path": "/a", "exists": True}}
        tasks = {"prefix": ("tasks",), "fields": ["/due"],
                 "queue": {"lease": "1m", "retries": ["1s"], "dead": ("dead",)}}
        indexes = self.db.apply_indexes({"moved_by_a": moved, "tasks_due": tasks})
        self.assertEqual(indexes["moved_by_a"]["state"], "ready")
        self.db.put(("moved", BigInt(1), "x"), {"a": "A", "b": "B"})
        changed = self.db.migrate_index(
            "moved_by_a", prefix=("moved", BigInt(1)), fields=["/b"], store="value", where=None,
            depth=None, missing=None, unique=False)
        self.assertEqual((changed["state"], changed["store"]), ("ready", "value"))
        self.assertEqual(self.db.get_by_index("moved_by_a", "B").value["a"], "A")
        self.assertIn("moved_by_a", [index["name"] for index in self.db.list_indexes()])
        self.db.atomic().set(("two", 1), {"a": 1}).set(("two", 2), {"a": 1}).commit()
        two = {"prefix": ("two",), "fields": ["/a"], "unique": True}
        with self.assertRaises(KindexError) as caught:
            self.db.apply_indexes({"two_by_a": two})
        self.assertEqual(caught.exception.code, "index-not-ready")
        planned = self.db.plan_indexes({"moved_by_a": moved}, prune=True)
        changes = {index["name"]: index["change"] for index in planned}
        self.assertEqual((changes["moved_by_a"], changes["tasks_due"]), ("changed", "dropped"))
        self.assertEqual(self.db.get_index("tasks_due")["state"], "ready")
        self.db.apply_indexes({"moved_by_a": moved}, prune=True)
        self.assertEqual([index["name"] for index in self.db.list_indexes()], ["moved_by_a"])
        self.db.drop_index("moved_by_a")

    def test_an_index_of_changes_is_followed_and_again_from_where_it_was_left(self):
        self.db.declare_index("feed", ("f",), [{"versionstamp": True}], tombstones="1h")
        self.db.put(("f", 1), {"n": 1})
        copy = {}
        since = None

        def until(wanted):
            nonlocal since
            changes = self.db.watch_index("feed", since=since)
            for change in changes:
                for entry in change.entries:
                    if entry.deleted:
                        copy.pop(entry.key[1], None)
                    else:
                        copy[entry.key[1]] = entry.value["n"]
                since = change.since or since
                if change.since and copy == wanted:
                    changes.close()
                    return

        until({1: 1})
        self.db.put(("f", 2), {"n": 2})
        self.db.delete(("f", 1))
        until({2: 2})
        left = since
        self.db.put(("f", 2), {"n": 3})
        until({2: 3})
        self.assertLess(left, since)
        first = self.db.watch_index("feed", prefix=())
        left = next(e for change in first for e in change.entries if not e.deleted)
        self.assertEqual(left.value, {"n": 3})
        first.close()
        since = "0" * 20
        with self.assertRaises(KindexError) as caught:
            until({})
        self.assertEqual(caught.exception.code, "history-gone")
        self.db.drop_index("feed")

    def test_with_a_consistency_reads_ask_for_what_was_written_before(self):
        with kindex.connect(URL, consistency="session") as db:
            exchange = db._transport._exchange
            asked = []

            def positioned(connection, request, headers):
                answer = exchange(connection, request, headers)
                asked.append(headers.get("Kindex-After"))
                at = ["1.9", "1.10", "1.2"][len(asked) - 1 :] + ["2.1"]
                answer.headers["Kindex-At"] = at[0]
                return answer

            with mock.patch.object(db._transport, "_exchange", positioned):
                db.get(("s",))
                db.put(("s",), 1)
                db.get(("s",))
                db.count(("s",))
                self.db.declare_index("s_count", ("s",), store={"aggregate": {}})
                db.aggregate("s_count")
                for reads in (db.list(), db.list_ranges([Range()]), db.children()):
                    next(reads, None)
                self.db.drop_index("s_count")
            self.assertEqual(asked[4:], ["2.1"] * 4)
            del asked[4:]
            self.assertEqual(asked, [None, None, "1.10", "1.10"])
            self.assertEqual(db._transport._at, "2.1")

    def test_declarations_have_members_of_every_kind(self):
        fields = [{"path": "/tags", "each": True, "fold": "lower"}, {"key": 1, "order": "desc"}]
        totals = {"aggregate": {"count": True, "sum": [{"path": "/n", "scale": 2}]}}
        declared = [
            self.db.declare_index("all_members", ("all",), fields, depth=1, missing="skip",
                                  where={"path": "/n", "gt": 0}, adopt=True),
            self.db.declare_index("all_totals", ("all",), store=totals),
            self.db.declare_index("all_stored", ("all",), ["/a"], unique=True,
                                  store={"fields": ["/b"]}),
            self.db.declare_index("all_due", ("all",), ["/due"], queue={
                "lease": "1m", "retries": ["1s"], "dead": ("dead", BigInt(1))}),
            self.db.declare_index("all_changes", ("all",), [{"versionstamp": True}],
                                  tombstones="1h"),
        ]
        self.assertEqual({index["state"] for index in declared}, {"ready"})
        self.assertEqual(
            self.db.migrate_index("all_changes", tombstones="2h")["tombstones"], "2h")
        self.db.put(("all", 1), {"n": 1, "tags": ["A", "b"], "a": "x"})
        self.assertEqual(self.db.get_by_index("all_members", "a").key, ("all", 1))
        moment = datetime(2026, 1, 2, tzinfo=timezone.utc)
        self.db.put_by_index(
            "all_stored", ("y",), {"a": "y", "when": moment}, create=("all", 2), ttl="1h")
        self.assertEqual(self.db.get(("all", 2)).value["when"], moment)
        for index in declared:
            self.db.drop_index(index["name"])

    def test_a_migration_that_duplicates_stop_is_not_waited_for(self):
        self.db.atomic().set(("twice", 1), {"a": 1}).set(("twice", 2), {"a": 1}).commit()
        self.db.declare_index("twice_by_a", ("twice",), ["/a"])
        change = urllib.request.Request(
            f"{URL}/indexes/twice_by_a", b'{"unique":true}', {"Prefer": "wait=30"}, method="PATCH")
        urllib.request.urlopen(change).close()
        index = self.db.declare_index("twice_by_a", ("twice",), ["/a"])
        self.assertEqual((index["state"], index["migration"]["state"]), ("migrating", "conflicted"))
        self.db.drop_index("twice_by_a")

    def test_a_rule_is_tried_declared_and_dropped(self):
        self.db.atomic().set(("stock", "a"), 5).set(("stock", "b"), -1).commit()
        bounds = {"min": 0, "max": 100}
        plan = self.db.plan_rule("stock", ("stock",), bounds=bounds)
        self.assertEqual((plan["read"], plan["violations"]), (2, 1))
        self.assertEqual(plan["examples"][0]["key"], ("stock", "b"))
        quota = {"entries": 3, "bytes": "1MiB", "depth": 1, "over": "refuse"}
        rule = self.db.put_rule("stock", ("stock",), depth=1, bounds=bounds, quota=quota)
        self.assertEqual((rule["prefix"], rule["quota"]["bytes"]), (("stock",), 1 << 20))
        while rule["state"] == "checking":
            rule = self.db.get_rule("stock")
        self.assertEqual((rule["state"], rule["violations"]), ("conflicted", 1))
        found = list(self.db.violations("stock", page_size=1))
        self.assertEqual([(one["key"], one["found"]) for one in found], [(("stock", "b"), -1)])
        with self.assertRaises(KindexError) as refused:
            self.db.put(("stock", "c"), 101)
        self.assertEqual(refused.exception.code, "rule-violated")
        self.assertEqual([(one["prefix"], one["entries"]) for one in self.db.usage(("stock", "a"))],
                         [(("stock", "a"), 1)])
        self.db.put_rule("items", ("items",), schema={"type": "object"}, ttl={
            "default": "1h", "max": "2h", "from": "/until"}, references=[
            {"path": "/of", "to": ("stock",), "as": "part", "onDelete": "restrict"}])
        self.assertEqual(self.db.get_rule("items")["references"][0]["to"], ("stock",))
        self.assertEqual([one["name"] for one in self.db.list_rules()], ["items", "stock"])
        for name in ("items", "stock"):
            self.db.drop_rule(name)
        self.assertEqual(self.db.list_rules(), [])

    def test_a_watch_shows_the_last_state(self):
        events = self.db.watch([("w", 1), ("w", 2)])
        self.assertEqual([e.value for e in next(events).entries], [None, None])
        self.db.put(("w", 2), 5)
        self.assertEqual([(e.key, e.value) for e in next(events).entries], [(("w", 2), 5)])
        events.close()
        changes = self.db.watch_prefix(("w",))
        self.assertTrue(next(changes).reset)
        self.db.delete(("w", 2))
        self.assertEqual([e.key for e in next(changes).entries], [("w", 2)])
        changes.close()

    def test_a_watch_that_is_cut_off_continues(self):
        db = kindex.connect(URL)
        self.addCleanup(db.close)
        send = db._transport._exchange
        answers = []

        def remember(connection, request, headers):
            answers.append((send(connection, request, headers), dict(headers)))
            return answers[-1][0]

        db._transport._exchange = remember
        events = db.watch([("cut",)])
        self.assertIsNone(next(events).entries[0].value)
        answers[0][0].stream.incoming._raw._sock.shutdown(socket.SHUT_RDWR)
        self.db.put(("cut",), 1)
        self.assertEqual(next(events).entries[0].value, 1)
        self.assertEqual([sent.get("Last-Event-ID") for _, sent in answers], [None, "-"])
        events.close()

    def test_a_watch_outlasts_the_retries_of_a_request(self):
        db = kindex.connect(URL, retries=0)
        self.addCleanup(db.close)
        send = db._transport._exchange
        asked = []

        def flaky(connection, request, headers):
            asked.append(request.path)
            if len(asked) <= 2:
                raise OSError("cut off")
            return send(connection, request, headers)

        db._transport._exchange = flaky
        with mock.patch("kindex.client.RECONNECT_S", 0.01):
            events = db.watch([("outlasts",)])
            self.assertIsNone(next(events).entries[0].value)
            events.close()
        self.assertEqual(len(asked), 3)

    def test_a_watch_that_is_refused_ends(self):
        with self.assertRaises(KindexError) as caught:
            next(self.db.watch([]))
        self.assertEqual(caught.exception.status, 400)

    def test_what_is_not_from_the_service_is_an_error_too(self):
        class Proxy(http.server.BaseHTTPRequestHandler):
            statuses = [502, 503]

            def do_GET(self):
                self.send_response(self.statuses.pop())
                self.send_header("Retry-After", "0")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"no")

            def log_message(self, *text):
                pass

        with http.server.HTTPServer(("127.0.0.1", 0), Proxy) as proxy:
            threading.Thread(target=proxy.serve_forever).start()
            with kindex.connect(f"http://127.0.0.1:{proxy.server_port}") as db:
                with self.assertRaises(KindexError) as caught:
                    db.count()
            proxy.shutdown()
        error = caught.exception
        self.assertEqual((error.status, error.code, str(error)), (502, "no-answer", "no"))

    def test_a_request_is_sent_again_and_done_once(self):
        db = kindex.connect(URL)
        self.addCleanup(db.close)
        send = db._transport._exchange
        calls = []

        def flaky(connection, request, headers):
            calls.append(headers.get("Idempotency-Key"))
            if len(calls) % 3 == 1:
                raise OSError("cut off")
            answer = send(connection, request, headers)
            if len(calls) % 3 == 2:
                raise OSError("the answer is lost")
            return answer

        db._transport._exchange = flaky
        for i in range(3):
            results = db.atomic().sum(("once",), 1, returns="new").commit().results
            self.assertEqual(results[0].value, i + 1)
        self.assertEqual(len(calls), 9)
        self.assertEqual(len(set(calls)), 3)
        with self.assertRaises(KindexError) as caught:
            kindex.connect("http://127.0.0.1:1", retries=1).get(("x",))
        self.assertEqual(caught.exception.code, "no-answer")

    def test_a_transaction_holds_only_if_what_it_read_is_still_the_same(self):
        for n in range(5):
            self.db.put(("t", n), {"n": n})
        forms = [
            {"prefix": ("t",)}, {"prefix": ("t",), "page_size": 2},
            {"prefix": ("t",), "page_size": 2, "reverse": True},
            {"prefix": ("t",), "start": ("t", 1), "page_size": 1},
            {"start": ("t", 1), "end": ("t", 4), "page_size": 2, "reverse": True},
            {"prefix": ("t",), "limit": 3, "page_size": 2, "fields": ["/n"]},
            {"prefix": ("t",), "limit": 4, "reverse": True, "keys": True}, {},
        ]
        for form in forms:
            expected = list(self.db.list(**form))
            runs = 0

            def work(t):
                nonlocal runs
                runs += 1
                found = list(t.list(**form))
                t.set(("aside",), runs)
                if runs == 1:
                    self.assertEqual([(repr(e.key), e.versionstamp) for e in found],
                                     [(repr(e.key), e.versionstamp) for e in expected])
                    self.db.put(("t", 1.5), runs)  # a phantom
                return len(found)

            self.assertEqual(self.db.transaction(work), len(expected) + (0 if "limit" in form else 1))
            self.assertEqual(runs, 2, form)
            self.db.delete(("t", 1.5))
            self.db.delete(("aside",))

    def test_the_writes_of_a_transaction_are_one_commit(self):
        def work(t):
            entry, missing = t.get_many([("one", 1), ("one", 2)])
            self.assertIsNone(t.get(("one", 3), fields=["/a"]).versionstamp)
            t.set(("one", 4), {"from": entry.versionstamp}, ttl="1h")
            t.patch(("one", 4), {"m": 1})
            t.operations(("one", 4), [{"op": "set", "path": "/o", "value": 1}])
            t.sum(("one", 5), 2)
            t.min(("one", 5), 7)
            t.max(("one", 5), 1)
            t.touch(("one", 4), "2h")
            t.delete(("one", 6))
            return missing.versionstamp

        self.assertIsNone(self.db.transaction(work))
        values = [entry.value for entry in self.db.list(("one",))]
        self.assertEqual(values, [{"from": None, "m": 1, "o": 1}, 2])
        self.assertEqual(len({entry.versionstamp for entry in self.db.list(("one",))}), 1)

    def test_only_conflicts_of_a_transaction_are_tried_again(self):
        runs = 0

        def conflicting(t):
            nonlocal runs
            runs += 1
            t.get(("busy",))
            self.db.put(("busy",), runs)
            t.set(("never",), runs)

        with self.assertRaises(KindexError) as caught:
            self.db.transaction(conflicting, tries=3)
        error = caught.exception
        self.assertEqual((error.code, runs, error.failed_checks[0]["key"]), ("check-failed", 3, ("busy",)))

        def refused(t):
            nonlocal runs
            runs += 1
            t.sum(("bounded",), -1, min=0)

        with self.assertRaises(KindexError) as caught:
            self.db.transaction(refused)
        self.assertEqual((caught.exception.code, runs), ("out-of-bounds", 4))

        def late(t):
            t.set(("never",), 1)
            t.get(("never",))

        with self.assertRaises(RuntimeError):
            self.db.transaction(late)
        with self.assertRaises(ValueError):
            self.db.transaction(refused, tries=0)
        self.assertIsNone(self.db.get(("never",)).versionstamp)

    def test_a_test_has_an_empty_store_of_its_own(self):
        program = os.environ["KINDEX_PROGRAM"]
        with kindex.kindex_for_tests(program, ["--cache", "16MiB"], retries=0) as own:
            self.assertEqual(list(own.list()), [])
            own.put(("mine",), 1)
            self.assertIsNone(self.db.get(("mine",)).versionstamp)
        with self.assertRaises(KindexError):
            own.get(("mine",))
        with self.assertRaisesRegex(RuntimeError, "no-such-option"):
            with kindex.kindex_for_tests(program, ["--no-such-option"]):
                self.fail("it started")

    def test_threads_share_a_client(self):
        def add():
            for _ in range(20):
                self.db.atomic().sum(("threads",), 1).commit()

        threads = [threading.Thread(target=add) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.db.get(("threads",)).value, 80)

    def test_jobs_are_claimed_and_their_receipts_used(self):
        self.db.declare_index("todo_due", ("todo",), ["/due"], queue={"retries": ["1h"]})
        queue = self.db.queue("todo_due")
        self.assertEqual(queue.claim(), [])
        self.db.put(("todo", 1), {"a": 1})
        self.db.put(("todo", 2), None)
        first, second = queue.claim(5)
        self.assertEqual((first.key, first.value, first.attempts, first.lease),
                         (("todo", 1), {"a": 1}, 1, 60.0))
        queue.extend([first, second.receipt], "5m")
        queue.release(first, "1ms")
        self.assertIn("todo_due", self.db.queues())
        self.assertEqual(queue.claim(prefix=(0,)), [])
        queue.fail(second, "no route", "1ms")
        with self.assertRaises(KindexError) as caught:
            queue.ack(first)
        self.assertEqual(caught.exception.code, "receipt-stale")
        (again,) = queue.claim(wait=5)
        self.assertEqual((again.key, again.attempts), (("todo", 1), 1))
        self.assertTrue(self.db.atomic().ack(again).set(("todone",), 1).commit().ok)
        (last,) = queue.claim(wait=5)
        self.assertEqual((last.attempts, last.error), (2, "no route"))
        queue.ack(last)
        self.assertEqual(queue.stats()["leased"], 0)

    def wait_extended(self, job):
        """Waits until the lease of the job is extended, which is a commit."""
        last = time.monotonic() + 60
        while self.db.get(job.key).versionstamp == job.versionstamp:
            self.assertLess(time.monotonic(), last, "the lease is not extended")
            time.sleep(0.05)

    def test_work_handles_each_job_and_an_error_is_a_failure(self):
        self.db.declare_index("work_due", ("work",), ["/due"], queue={
            "lease": "6s", "retries": ["1ms"], "dead": ["worked"]})
        stop = threading.Event()
        together = threading.Barrier(2)
        seen = []
        errors = []

        def handle(job):
            if job.value < 2:
                together.wait(60)
            if job.value == 3:
                self.wait_extended(job)
            seen.append(job.value)
            if job.value == 5:
                raise ValueError("no route " + "\U0001f600" * 300)
            if job.value == 4:
                self.db.atomic().ack(job).commit()

        def note(error, job):
            errors.append((job.attempts, str(error)[:8]))
            if job.attempts == 2:
                stop.set()

        for n in range(6):
            self.db.put(("work", n), n)
        self.db.queue("work_due").work(handle, concurrency=3, stop=stop, on_error=note)
        self.assertEqual(sorted(seen), [0, 1, 2, 3, 4, 5, 5])
        self.assertEqual(errors, [(1, "no route"), (2, "no route")])
        self.assertEqual(self.db.count(("work",)), 0)
        self.assertEqual(self.db.count(("worked",)), 1)
        with self.assertRaises(KindexError) as caught:
            self.db.queue("none").work(handle)
        self.assertEqual(caught.exception.code, "queue-not-found")

    def test_asyncio(self):
        async def tour():
            async with AsyncKindex(URL) as db:
                await asyncio.gather(*(db.put(("async", i), i) for i in range(8)))
                found = [entry.value async for entry in db.list(("async",), page_size=3)]
                self.assertEqual(found, list(range(8)))
                self.assertEqual(await db.count(("async",)), 8)

                async def nine_more(t):
                    entries = [entry async for entry in t.list(("async",))]
                    first = await t.get(("async", 1))
                    t.set(("async", 1), first.value + len(entries))

                await asyncio.gather(*(db.transaction(nine_more, tries=50) for _ in range(3)))
                self.assertEqual((await db.get(("async", 1))).value, 25)
                commit = await db.commit(db.atomic().sum(("async", 0), 4, returns="new"))
                self.assertEqual(commit.results[0].value, 4)
                async for change in db.watch([("async", 0)]):
                    self.assertEqual(change.entries[0].value, 4)
                    break

        asyncio.run(tour())


if __name__ == "__main__":
    unittest.main()
