"""Searches through a real redis-server on the loopback. Usage: check_workers.py INTAGLIO FOLDER [CASE...]

chaos     4 workers; workers and the server (with and without its data) are killed at random, and the search itself once, which is
          resumed: trials and strategy file are those of one machine
liar      one worker's connection turns one digit of one digest: both workers are named, the liar as wrong, and resuming without it
          gives what one machine gives
refusals  workers refuse another version's search, a search whose proof they fail, and hostile descriptions; a wrong password
rounds    a search to its end, whose last trials have codes of their own: the trials of one machine, those made by the search
tls       rediss://, with a certificate that is trusted and one that is not
"""
import hashlib
import json
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time

from redis_server import Client, Server, free_port, start

PROGRAM, FOLDER = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")
TRIALS = 200
SEARCH = [os.path.join(EXAMPLES, "digits.onnx"), "--hw", "cortex-m", "--data", os.path.join(EXAMPLES, "digits_search_images.npy"),
          "--labels", os.path.join(EXAMPLES, "digits_search_labels.npy"), "--seed", "3", "--searcher", "evolve", "--threads", "1"]
PASSWORD = "it's a p@ss/word:1"


def fail(text):
    raise SystemExit("FAILED: " + text)


def path(name):
    return os.path.join(FOLDER, name)


def trials(db):
    with sqlite3.connect(db) as log:
        rows = log.execute("SELECT number, round, point, feasible, error, stopped_at, samples, digest FROM trials ORDER BY number").fetchall()
        scores = log.execute("SELECT subject, metric, value FROM metrics ORDER BY subject, metric").fetchall()
    return rows, scores


def count_trials(db, what="*"):
    try:
        with sqlite3.connect(f"file:{db}?mode=ro", uri=True) as log:
            return log.execute(f"SELECT count({what}) FROM trials").fetchone()[0]
    except sqlite3.Error:
        return 0


def begin_search(db, strategy, *extra, resume=False):
    words = [PROGRAM, "search"] + (["--resume", "1"] if resume else SEARCH + ["--trials", str(TRIALS)])
    return start(words + ["-q", "--db", path(db), "-o", path(strategy), *extra], stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True)


def end_search(process, what, allowed=(0, 3)):
    try:
        _, text = process.communicate(timeout=100)
    except subprocess.TimeoutExpired:
        process.kill()
        fail(f"{what}: does not end")
    if process.returncode not in allowed:
        fail(f"{what}: exit status {process.returncode}: {text}")
    return text


def one_machine():
    """What one machine gives; the status of a goal that does not hold on the hold-out is as good as 0."""
    end_search(begin_search("one.db", "one.json"), "one machine")
    return open(path("one.json"), "rb").read(), trials(path("one.db"))


def same_as(one, db, strategy, what):
    if open(path(strategy), "rb").read() != one[0]:
        fail(f"{what}: the strategy file differs")
    if trials(path(db)) != one[1]:
        fail(f"{what}: the trials differ")


class Worker:
    number = 0

    def __init__(self, port, *extra, environment=None):
        Worker.number += 1
        self.log = path(f"worker{Worker.number}.log")
        self.process = start(
            [PROGRAM, "worker", f"redis://127.0.0.1:{port}/test", "--threads", "1", "--lease", "1", "--cache-dir",
             path("cache"), *extra], stdout=subprocess.DEVNULL, stderr=open(self.log, "w"),
            env={**os.environ, **(environment or {})})

    def text(self):
        return open(self.log).read()

    def name(self):
        for _ in range(200):
            found = re.search(r"intaglio: worker (\S+)", self.text())
            if found:
                return found.group(1)
            time.sleep(0.02)
        fail("a worker does not begin")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def status(self, what):
        try:
            return self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            fail(f"{what}: the worker does not end: {self.text()}")


def chaos(one):
    rng = random.Random(11)
    server = Server(path("server"))
    address = f"redis://127.0.0.1:{server.port}/test"
    workers = [Worker(server.port) for _ in range(4)]
    search = begin_search("chaos.db", "chaos.json", "--workers", address, "--recheck", "10%")
    kills, servers, seen, resumed = 0, 0, 0, False
    while search.poll() is None:
        time.sleep(0.01)
        now = count_trials(path("chaos.db"))
        if now < seen + 8:
            continue
        seen = now
        i = rng.randrange(4)
        workers[i].kill()
        kills += 1
        if servers < 4 and now >= 35 * (servers + 1):
            server.kill(lose_data=servers % 2 == 1)
            servers += 1
            server.begin()
        if not resumed and now >= 100:
            search.kill()
            search.communicate()
            resumed = True
            # What the killed search wrote after it was counted must not kill a server before the next has connected.
            seen = max(now, count_trials(path("chaos.db")))
            search = begin_search("chaos.db", "chaos.json", "--workers", address, "--recheck", "10%", resume=True)
        workers[i] = Worker(server.port)
    end_search(search, "chaos")
    for w in workers:
        w.kill()
    server.end()
    same_as(one, "chaos.db", "chaos.json", "chaos")
    if kills < 5 or servers < 2 or not resumed:
        fail(f"chaos: only {kills} workers and {servers} servers were killed, the search resumed: {resumed}")
    shown = subprocess.run([PROGRAM, "runs", "show", "1", "--json", "--db", path("chaos.db")], capture_output=True, text=True)
    by_worker = json.loads(shown.stdout)["workers"]
    if len(by_worker) < 2 or sum(w["trials"] for w in by_worker) < TRIALS // 2:
        fail(f"chaos: runs show has {by_worker}")
    print(f"chaos: {kills} workers, {servers} servers and the search were killed; {len(by_worker)} workers had trials")


class Liar(threading.Thread):
    """A connection through which one result passes with another digest, once `begins` is set."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.begins, self.lied = free_port(), threading.Event(), False
        self.target = port
        self.listener = socket.create_server(("127.0.0.1", self.port))
        self.start()

    def run(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection(("127.0.0.1", self.target))
            threading.Thread(target=self.relay, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self.relay, args=(server, client, False), daemon=True).start()

    def relay(self, source, sink, lies):
        try:
            while data := source.recv(1 << 20):
                at = data.find(b'"digest": "') if lies and b"\r\ndone\r\n" in data else -1
                if at >= 0 and self.begins.is_set() and not self.lied:
                    at += 11
                    data = data[:at] + (b"1" if data[at:at + 1] == b"0" else b"0") + data[at + 1:]
                    self.lied = True
                sink.sendall(data)
        except OSError:
            pass
        sink.close()


def liar(one):
    server = Server(path("server"))
    address = f"redis://127.0.0.1:{server.port}/test"
    proxy = Liar(server.port)
    workers = [Worker(server.port) for _ in range(3)] + [Worker(proxy.port)]
    search = begin_search("liar.db", "liar.json", "--workers", address, "--recheck", "100%")
    while search.poll() is None and count_trials(path("liar.db"), "DISTINCT worker") < len(workers):
        time.sleep(0.01)  # until each can check another
    proxy.begins.set()
    text = end_search(search, "liar", (0, 1, 3))
    if not proxy.lied:
        fail("liar: it had no trial to lie about")
    name = workers[3].name()
    if not re.search(r"workers \S+ and \S+ computed different results", text) or f"{name} is wrong" not in text:
        fail(f"liar: {name} is not named: {text}")
    workers[3].kill()
    end_search(begin_search("liar.db", "liar.json", "--workers", address, "--recheck", "100%", resume=True), "liar, resumed")
    same_as(one, "liar.db", "liar.json", "liar")
    for w in workers:
        w.kill()
    print("liar:", text.strip())
    return server


def offer(client, document):
    """A trial of a search that this test makes up."""
    name = hashlib.sha256(document).hexdigest()
    client("HSET", f"test:file:{name}", "0", document)
    client("SET", "test:alive:s1", "1")
    client("XADD", "test:jobs", "*", "s", "s1", "n", "0", "d", name, "b", len(document), "q", '{"point":[8]}')


def refusals(server):
    """On the server of the search before, whose files are still there."""
    client = Client(server.port)
    documents = [d for k in client("KEYS", "test:file:*") if (d := client("HGET", k, "0")) and b'"proof"' in d]
    if not documents:
        fail("refusals: the search left no description")
    good = json.loads(documents[0])
    cases = [({**good, "engine": "9.9.9"}, "the search is of version 9.9.9"),
             ({**good, "proof": "0" * 64}, "fails the proof"),
             ({**good, "probe": '{"point":[1]}'}, "request: point: expected"),
             ({**good, "files": [{**f, "path": "../" + f["path"]} if f["kind"] == "model" else f for f in good["files"]]},
              "expected a path inside a folder"),
             ({**good, "files": [f for f in good["files"] if f["kind"] != "statistics"]}, "statistics: is missing"),
             ({**good, "files": [{**f, "kind": "floats" if f["kind"] == "samples" else "samples" if f["kind"] == "floats" else
                                  f["kind"]} for f in good["files"]]}, "samples: "),
             ({**good, "extra": 1}, "unknown key 'extra'"),
             ([], "")]
    for document, words in cases:
        client("DEL", "test:jobs")
        client("XGROUP", "CREATE", "test:jobs", "workers", "0", "MKSTREAM")
        offer(client, json.dumps(document).encode())
        worker = Worker(server.port)
        status = worker.status(words)
        if status != 1 or words not in worker.text():
            fail(f"refusals: expected '{words}', the worker ends with {status}: {worker.text()}")
    # Entries that are no trials are passed over; a search that is dead is not worked for.
    client("DEL", "test:jobs", "test:alive:s1")
    client("XGROUP", "CREATE", "test:jobs", "workers", "0", "MKSTREAM")
    client("XADD", "test:jobs", "*", "s", "../x", "n", "-1", "d", "zz", "b", "1", "q", "")
    client("XADD", "test:jobs", "*", "nothing", "else")
    client("XADD", "test:jobs", "*", "s", "dead", "n", "0", "d", "0" * 64, "b", "1", "q", "{}")
    worker = Worker(server.port, "--idle", "2")
    if worker.status("entries that are no trials") != 0 or client("XLEN", "test:jobs") != 0:
        fail(f"refusals: entries that are no trials: {worker.text()}")
    server.end()
    server = Server(path("locked"), ["--requirepass", PASSWORD])
    worker = Worker(server.port, environment={"INTAGLIO_REDIS_PASSWORD": "wrong"})
    if worker.status("a wrong password") != 1 or "WRONGPASS" not in worker.text():
        fail(f"refusals: a wrong password: {worker.text()}")
    worker = Worker(server.port, "--idle", "1", environment={"INTAGLIO_REDIS_PASSWORD": PASSWORD})
    if worker.status("the password") != 0:
        fail(f"refusals: the password: {worker.text()}")
    server.end()
    print(f"refusals: {len(cases) + 3} cases")


def rounds():
    """The example is searched to its end, here and by a worker; all but the last round's trials are the worker's."""
    server = Server(path("rounds"))
    words = [PROGRAM, "search", *SEARCH[:SEARCH.index("--searcher")], "--searcher", "hago-greedy", "-q"]
    for name, extra in (("here", []), ("there", ["--workers", f"redis://127.0.0.1:{server.port}/test"])):
        worker = Worker(server.port) if extra else None
        end_search(start(words + ["--db", path(name + ".db"), "-o", path(name + ".json"), *extra], stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True), f"rounds: {name}")
        if worker:
            worker.kill()
    server.end()
    same_as((open(path("here.json"), "rb").read(), trials(path("here.db"))), "there.db", "there.json", "rounds")
    with sqlite3.connect(path("there.db")) as log:
        made = log.execute("SELECT round, count(*), count(worker) FROM trials WHERE seconds > 0 GROUP BY round").fetchall()
    if [row[0] for row in made] != [0, 1, 2] or any((row[2] > 0) != (row[0] < 2) for row in made):
        fail(f"rounds: (round, trials, by workers) are {made}")
    print(f"rounds: (round, trials, by workers): {made}")


def tls(one):
    if not shutil.which("openssl"):
        print("tls: skipped, there is no openssl to make a certificate with")
        return
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", path("key.pem"), "-out", path("cert.pem")], check=True, capture_output=True)
    files = ["--tls-cert-file", path("cert.pem"), "--tls-key-file", path("key.pem"), "--tls-auth-clients", "no", "--port", "0",
             "--requirepass", "secret"]
    server = Server(path("tls"), files, "--tls-port")
    address = f"rediss://:secret@127.0.0.1:{server.port}/test"
    trusted = {**os.environ, "SSL_CERT_FILE": path("cert.pem")}

    def run(command, environment):
        return subprocess.run([PROGRAM, *command], env=environment, capture_output=True, text=True, timeout=60)

    refused = run(["worker", address, "--cache-dir", path("cache"), "--idle", "1"], os.environ)
    if "without TLS" in refused.stderr or "does not have (OpenSSL)" in refused.stderr:
        print("tls: this build has none, and says so")
    elif refused.returncode != 1 or "TLS" not in refused.stderr:
        fail(f"tls: a certificate that nobody signed: {refused.returncode} {refused.stderr}")
    else:
        worker = start([PROGRAM, "worker", address, "--cache-dir", path("cache"), "--threads", "1", "-q"], env=trusted)
        found = run(["search", *SEARCH, "--trials", str(TRIALS), "-q", "--db", path("tls.db"), "-o", path("tls.json"), "--workers",
                     address], trusted)
        worker.kill()
        worker.wait()
        if found.returncode not in (0, 3):
            fail(f"tls: {found.stderr}")
        same_as(one, "tls.db", "tls.json", "tls")
        print("tls: a search, and a certificate that is not trusted")
    server.end()


def main():
    if not shutil.which("redis-server"):
        print("skipped: there is no redis-server (Debian: redis-server)")
        raise SystemExit(77)
    absent = subprocess.run([PROGRAM, "worker", "redis://127.0.0.1:1/x", "--cache-dir", FOLDER, "--idle", "1"], capture_output=True,
                            text=True)
    if "without libhiredis" in absent.stderr:
        print("skipped: this build has no libhiredis, and says so")
        raise SystemExit(77)
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(path("cache"))
    began = time.time()
    one = one_machine()
    cases = sys.argv[3:] or ["chaos", "liar", "refusals", "rounds", "tls"]
    server = None
    if "chaos" in cases:
        chaos(one)
    if "liar" in cases:
        server = liar(one)
    if server and "refusals" in cases:
        refusals(server)
    elif server:
        server.end()
    if "rounds" in cases:
        rounds()
    if "tls" in cases:
        tls(one)
    print(f"{time.time() - began:.1f} s")


main()
