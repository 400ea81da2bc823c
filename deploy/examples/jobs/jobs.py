#!/usr/bin/env python3
"""A job runner: commands are jobs of a queue, and their results are entries.

    jobs.py add NAME COMMAND   adds a job
    jobs.py work               runs jobs until it is stopped; any number of these may run
    jobs.py results            prints the output of each job, and the jobs that failed for good
    jobs.py                    demonstrates this with three jobs

KINDEX_URL is the address of Kindex."""

import os
import subprocess
import sys
import threading

import kindex

OUTPUT_MAX = 4096
WORKERS = 4
QUEUE = "jobs_due"
PAUSE_S = 0.05
PAUSES = ["10ms", "20ms"]  # after the first and the second failure; the third is the last

db = kindex.connect(os.environ.get("KINDEX_URL", "http://127.0.0.1:4512"))


def declare():
    queue = {"lease": "30s", "retries": PAUSES, "dead": ["dead"]}
    db.declare_index(QUEUE, ("jobs",), ["/due"], queue=queue)


def add(name, command):
    """A job is an entry. A name that exists already is not added again."""
    db.put(("jobs", name), {"command": command}, versionstamp=None)


def run(job):
    """The result is stored by the commit that ends the job, so no job has two results. An
    exception makes the job due again after a pause."""
    done = subprocess.run(job.value["command"], shell=True, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-OUTPUT_MAX:] or f"exit status {done.returncode}")
    result = {"output": done.stdout[-OUTPUT_MAX:], "attempts": job.attempts}
    db.atomic().set(("results", job.key[1]), result, ttl="7d").ack(job).commit()


def work(stop):
    db.queue(QUEUE).work(run, concurrency=WORKERS, stop=stop)


def show():
    for entry in db.list(("results",)):
        print(f"{entry.key[1]}: {entry.value['output'].strip()}")
    for entry in db.list(("dead",)):
        _, _, name, _ = entry.key  # ("dead", "jobs", name, when)
        print(f"{name}: failed {len(PAUSES) + 1} times: {entry.value['command']}")


def demonstrate():
    add("sum", "echo $((6 * 7))")
    add("date", "date -u -d @0 +%Y")
    add("wrong", "ls /no/such/file")
    stop = threading.Event()
    worker = threading.Thread(target=work, args=(stop,))
    worker.start()
    while db.count(("jobs",)) > 0:
        stop.wait(PAUSE_S)
    stop.set()
    worker.join()
    show()


def main(arguments):
    declare()
    if not arguments:
        demonstrate()
    elif arguments[0] == "add" and len(arguments) == 3:
        add(*arguments[1:])
    elif arguments == ["work"]:
        work(threading.Event())
    elif arguments == ["results"]:
        show()
    else:
        sys.exit(__doc__)


main(sys.argv[1:])
