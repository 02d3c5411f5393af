"""A redis-server of the test's own on a free port of the loopback, and the few words of its protocol that a test needs."""
import atexit
import os
import shutil
import signal
import socket
import subprocess
import time


started = []  # nothing outlives the test, however it ends


def start(*words, **options):
    started.append(subprocess.Popen(*words, **options))
    return started[-1]


@atexit.register
def kill_all():
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, folder, extra=(), port_option="--port"):
        self.folder = folder
        self.port = free_port()
        self.extra = list(extra)
        self.port_option = port_option
        self.process = None
        self.begin()

    def begin(self):
        os.makedirs(self.folder, exist_ok=True)
        self.process = start(
            ["redis-server", self.port_option, str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", self.folder,
             "--appendonly", "yes", "--appendfsync", "everysec", *self.extra],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise SystemExit("redis-server does not start")

    def kill(self, lose_data):
        self.process.kill()
        self.process.wait()
        if lose_data:
            shutil.rmtree(self.folder)

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()


class Client:
    def __init__(self, port):
        self.file = socket.create_connection(("127.0.0.1", port), 10).makefile("rwb")

    def __call__(self, *words):
        words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        self.file.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        self.file.flush()
        return self.reply()

    def reply(self):
        line = self.file.readline()[:-2]
        kind, rest = line[:1], line[1:]
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return None if rest == b"-1" else [self.reply() for _ in range(int(rest))]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        return int(rest) if kind == b":" else rest
