"""Trials on other machines: a redis-server of the test's own, and workers that the package brings."""

import shutil
import socket
import subprocess
import time

import pytest

import intaglio
from intaglio._report import PROGRAM


@pytest.fixture
def server(tmp_path):
    if shutil.which("redis-server") is None:
        pytest.skip("no redis-server is installed: workers were not tried")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)],
                               stdout=subprocess.DEVNULL)
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            time.sleep(0.02)
    yield f"redis://127.0.0.1:{port}/test"
    process.kill()
    process.wait()


def search(digits, source, **how):
    return intaglio.search(intaglio.Model(source), "cortex-m", digits.search_images, digits.search_labels,
                           preprocess=digits.preprocess, progress=False, trials=30, seed=3, **how)


@pytest.mark.parametrize("source", ["path", "bytes"])
def test_workers_give_what_one_machine_gives(digits, server, tmp_path, source):
    model = digits.path if source == "path" else digits.path.read_bytes()
    command = [str(PROGRAM), "worker", server, "--threads", "1", "--cache-dir"]
    workers = [subprocess.Popen([*command, str(tmp_path / f"cache{i}")], stderr=subprocess.DEVNULL) for i in range(2)]
    try:
        there = search(digits, model, workers=server, recheck=0.5)
    except intaglio.Unsupported as failure:
        pytest.skip(str(failure))
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    here = search(digits, model)
    assert [(t["point"], t["digest"]) for t in there.trials] == [(t["point"], t["digest"]) for t in here.trials]
    assert there.best.to_bytes() == here.best.to_bytes()


def test_no_server_and_no_address(digits):
    for address, words in (("redis://127.0.0.1:1/test", "127.0.0.1"), ("http://x/test", "redis://")):
        with pytest.raises(intaglio.Error, match=words):
            search(digits, digits.path, workers=address)


def test_a_run_without_a_server_has_ended(digits, program, tmp_path):
    with pytest.raises(intaglio.Error):
        search(digits, digits.path, workers="redis://127.0.0.1:1/test", db=tmp_path / "runs.db")
    assert "127.0.0.1" in program("runs", "show", "1", "--db", tmp_path / "runs.db")
