"""The Python client against a real server, whose address is in KINDEX_URL."""

import asyncio
import http.server
import os
import socket
import threading
import unittest
import urllib.request
from datetime import datetime, timezone
from unittest import mock

import kindex
from kindex import AsyncKindex, BigInt, By, KindexError, KvU64, Typed

URL = os.environ["KINDEX_URL"]


class Entries(unittest.TestCase):
    def setUp(self):
        self.db = kindex.connect(URL)
        self.addCleanup(self.db.close)

    def test_values_come_back_as_they_were_put(self):
        values = [
            None, True, "a\U0001F600", 1.5, 2**80, {"a": [1, {"b": None}], "é": "x"}, [],
            BigInt(10**30), float("inf"), KvU64(2**64 - 1), b"\x00\xff\x07",
            datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=timezone.utc),
            {1, 2}, {1: {"x"}, "y": 2}, {"big": BigInt(1)}, Typed("RegExp", "/a/gi"),
        ]
        for i, value in enumerate(values):
            self.db.put(("values", i), value)
            entry = self.db.get(("values", i))
            self.assertEqual(entry.value, value)
            self.assertIs(type(entry.value), type(value))
            self.assertRegex(entry.versionstamp, "^[0-9a-f]{20}$")
        listed = list(self.db.list(("values",), page_size=7))
        self.assertEqual([entry.value for entry in listed], values)
        self.assertEqual(self.db.count(("values",)), len(values))

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
        self.assertEqual(self.db.count(index="users_by_email"), 2)

    def test_a_migration_that_duplicates_stop_is_not_waited_for(self):
        self.db.atomic().set(("twice", 1), {"a": 1}).set(("twice", 2), {"a": 1}).commit()
        self.db.declare_index("twice_by_a", ("twice",), ["/a"])
        change = urllib.request.Request(
            f"{URL}/indexes/twice_by_a", b'{"unique":true}', {"Prefer": "wait=30"}, method="PATCH")
        urllib.request.urlopen(change).close()
        index = self.db.declare_index("twice_by_a", ("twice",), ["/a"])
        self.assertEqual((index["state"], index["migration"]["state"]), ("migrating", "conflicted"))
        self.db.drop_index("twice_by_a")

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
        answers[0][0].stream.fp.raw._sock.shutdown(socket.SHUT_RDWR)
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

    def test_asyncio(self):
        async def tour():
            async with AsyncKindex(URL) as db:
                await asyncio.gather(*(db.put(("async", i), i) for i in range(8)))
                found = [entry.value async for entry in db.list(("async",), page_size=3)]
                self.assertEqual(found, list(range(8)))
                self.assertEqual(await db.count(("async",)), 8)
                commit = await db.commit(db.atomic().sum(("async", 0), 4, returns="new"))
                self.assertEqual(commit.results[0].value, 4)
                async for change in db.watch([("async", 0)]):
                    self.assertEqual(change.entries[0].value, 4)
                    break

        asyncio.run(tour())


if __name__ == "__main__":
    unittest.main()
