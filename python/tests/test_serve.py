"""`ftlab serve`: a drive of real bytes over NBD, whose process is killed, and asked to end."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

SMALL = [
    "tbm-small", "--set", 'device.user_capacity="4MiB"', "--set", "device.channels=1",
    "--set", "device.chips_per_channel=1", "--set", "device.blocks_per_plane=32", "--set", "device.pages_per_block=16",
    "--set", "device.cell=slc",
]  # fmt: skip

needs_qemu = pytest.mark.skipif(
    shutil.which("qemu-io") is None, reason="needs qemu-io (apt-get install qemu-utils)"
)


class Serving:
    """A server over `disk` in a directory."""

    def __init__(self, where: Path, *options: str, config: list[str] = SMALL) -> None:
        self.where = where
        command = [sys.executable, "-m", "ftlab", "serve", *config, "--image", "disk", "--json", *options]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, cwd=where, stdout=pipe, stderr=pipe, text=True)
        self.said: list[str] = []
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if line.startswith("serving"):
                return
        raise AssertionError(f"it does not serve: {self.said}")

    def io(self, *commands: str) -> tuple[int, str]:
        """Has qemu-io carry out commands; those that succeeded, and all that it says."""
        words = [word for command in commands for word in ("-c", command)]
        uri = f"nbd+unix:///?socket={self.where / 'disk.sock'}"
        done = subprocess.run(
            ["qemu-io", "-f", "raw", *words, uri], capture_output=True, text=True, timeout=60, check=False
        )
        # A pattern that is not there is told, and the operation counted.
        failed = done.stdout.count("Pattern verification failed")
        return done.stdout.count("ops/sec") - failed, done.stdout + done.stderr

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(timeout=30)
        self._close()

    def end(self) -> dict[str, object]:
        """Asks it to end; what it tells of itself."""
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, err
        told: dict[str, object] = json.loads(out)
        return told

    def _close(self) -> None:
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


@needs_qemu
def test_what_was_flushed_survives_a_killed_server(tmp_path: Path) -> None:
    serving = Serving(tmp_path)
    write = ["write -P 0x5a 0 1M", "write -P 0x33 4096 512", "flush", "discard 65536 65536", "flush"]
    done, said = serving.io(*write, "read -P 0x33 4096 512", "read -P 0 65536 65536")
    assert done == 5, said
    serving.kill()
    again = Serving(tmp_path)
    reads = [
        "read -P 0x33 4096 512",
        "read -P 0x5a 0 4096",
        "read -P 0x5a 4608 3584",
        "read -P 0 65536 65536",
    ]
    done, said = again.io(*reads, "read -P 0x5a 131072 65536", "read -P 0 2M 64k")
    assert done == 6, said
    told = again.end()
    assert told["reads"] == 6 and told["ended"] == "asked to"
    restart = told["restart"]
    assert isinstance(restart, dict)
    assert restart["pages_read"] >= 128 and restart["discarded_pages"] == 8, restart


@needs_qemu
def test_a_cut_ends_the_server_and_keeps_the_image(tmp_path: Path) -> None:
    serving = Serving(tmp_path, "--cut-at", "on-flush:2")
    done, _ = serving.io("write -P 7 0 64k", "flush", "write -P 9 64k 64k", "flush")
    assert done == 2
    out, err = serving.process.communicate(timeout=60)
    assert serving.process.returncode == 0 and "the power was cut as asked for" in err
    assert json.loads(out)["ended"] == "the power is cut"
    again = Serving(tmp_path)
    assert again.io("read -P 7 0 64k")[0] == 1
    again.end()


@needs_qemu
def test_a_drive_for_reading_takes_no_writes(tmp_path: Path) -> None:
    serving = Serving(tmp_path)
    serving.io("write -P 7 0 64k")
    serving.end()
    before = (tmp_path / "disk").read_bytes()
    reading = Serving(tmp_path, "--read-only")
    assert reading.io("read -P 7 0 64k")[0] == 0, "qemu-io opens for writing"
    uri = f"nbd+unix:///?socket={tmp_path / 'disk.sock'}"
    done = subprocess.run(
        ["qemu-io", "-r", "-f", "raw", "-c", "read -P 7 0 64k", uri],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "ops/sec" in done.stdout and "failed" not in done.stdout, done
    reading.end()
    assert (tmp_path / "disk").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ["--set", "ftl.mapping=fast", "--set", "ftl.allocation=CWDP", "--set", "ftl.victim=fifo"],
            "hybrid mapping leaves no spare areas",
        ),
        (["--read-only"], "does not exist"),
        (["--cut-at", "soon"], "is no moment to cut the power"),
    ],
)
def test_what_cannot_be_served_is_refused(tmp_path: Path, options: list[str], expected: str) -> None:
    command = [sys.executable, "-m", "ftlab", "serve", *SMALL, *options, "--image", "disk"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and expected in done.stderr, done.stderr


def test_a_drive_needs_no_workload_and_a_clean_stop_leaves_a_checkpoint(tmp_path: Path) -> None:
    text = """
[device]
channels = 1
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 2
blocks_per_plane = 32
pages_per_block = 16
page_size = "4KiB"
cell = "slc"
user_capacity = "2MiB"
[device.timing]
read = "50us"
program = "500us"
erase = "3ms"
channel_rate = "400MT/s"
"""
    (tmp_path / "drive.toml").write_text(text)
    first = Serving(tmp_path, config=["drive.toml"])
    if shutil.which("qemu-io") is not None:
        assert first.io("write -P 3 0 64k")[0] == 1
    first.end()
    second = Serving(tmp_path, config=["drive.toml"])
    restart = second.end()["restart"]
    assert isinstance(restart, dict) and restart["from_checkpoint"], restart
    third = Serving(tmp_path, config=["drive.toml"])
    third.kill()
    fourth = Serving(tmp_path, config=["drive.toml"])
    if shutil.which("qemu-io") is not None:
        assert fourth.io("read -P 3 0 64k")[0] == 1
    restart = fourth.end()["restart"]
    assert isinstance(restart, dict) and not restart["from_checkpoint"], restart


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 3 MiB, which only root can make."""
    where = tmp_path / "small"
    where.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3M", "tmpfs", where], capture_output=True, check=False
    )
    if made.returncode != 0:
        pytest.skip("needs root, to mount a small disk")
    yield where
    subprocess.run(["umount", where], check=True)


@needs_qemu
def test_a_full_disk_is_an_error_and_loses_nothing(small_disk: Path) -> None:
    serving = Serving(small_disk)
    done, said = serving.io("write -P 5 0 1M", "flush", "write -P 6 1M 3M", "flush", "read -P 5 0 1M")
    # The first write and the read: a full disk is an error of the other write alone.
    assert done == 2 and said.count("No space left on device") == 1, said
    subprocess.run(["mount", "-o", "remount,size=16M", small_disk], check=True)
    again = ("write -P 6 1M 3M", "flush", "read -P 6 1M 3M", "read -P 5 0 1M")
    assert serving.io(*again)[0] == 3
    serving.kill()
    after = Serving(small_disk)
    assert after.io("read -P 5 0 1M", "read -P 6 1M 3M")[0] == 2
    after.end()


def test_a_new_drive_says_so_and_is_aged_in_a_word(tmp_path: Path) -> None:
    new = Serving(tmp_path)
    assert new.said[0] == "opening disk\n" and any("the drive is new" in line for line in new.said), new.said
    told = new.end()
    assert told["new"] and told["waf"] is None, told
    (tmp_path / "disk").unlink()
    aged = Serving(tmp_path, "--aged")
    assert not any("the drive is new" in line for line in aged.said), aged.said
    before = aged.end()
    assert not before["new"] and int(str(before["free_blocks"])) < int(str(told["free_blocks"])), before
    command = [sys.executable, "-m", "ftlab", "serve", *SMALL, "--image", "disk", "--aged"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "only a new drive is aged" in done.stderr, done.stderr


@needs_qemu
def test_erased_blocks_take_no_room_on_the_disk(tmp_path: Path) -> None:
    serving = Serving(tmp_path)
    for value in range(6):
        assert serving.io(f"write -P {value + 1} 0 4M", "flush")[0] == 1
    serving.end()
    taken = (tmp_path / "disk").stat().st_blocks * 512
    # Of 16 MiB of flash some blocks are always erased.
    assert taken < 15.9 * 2**20, taken


def test_an_image_of_another_device_is_refused(tmp_path: Path) -> None:
    Serving(tmp_path).end()
    command = [sys.executable, "-m", "ftlab", "serve", *SMALL, "--set", "ftl.victim=fifo", "--image", "disk"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2, done.stderr
    assert "is of another configuration" in done.stderr and "fifo" in done.stderr
    first = Serving(tmp_path)
    command = [sys.executable, "-m", "ftlab", "serve", *SMALL, "--image", "disk", "--socket", "other.sock"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "in use by another process" in done.stderr
    first.end()


def test_a_run_with_real_bytes_checks_them_and_leaves_a_drive(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "ftlab",
        "run",
        *SMALL,
        "--set",
        "workload.volume=2x",
        "--set",
        "run.precondition=none",
    ]
    device = ["--set", "run.executor=device", "--image", "disk"]
    done = subprocess.run(
        [*command, *device], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "after a power cut" in done.stdout and "sectors, all likewise" in done.stdout, done.stdout
    again = subprocess.run(
        [*command, *device, "--json"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    told = json.loads(again.stdout)
    assert told["device"]["sectors_checked_after_restart"] > 4000, told["device"]
    assert not told["device"]["restart"]["from_checkpoint"] and told["run"]["image"] == "disk"
    serving = Serving(tmp_path)
    restart = serving.end()["restart"]
    assert isinstance(restart, dict) and restart["from_checkpoint"], restart
    wrong = subprocess.run(
        [*command, "--image", "other"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert wrong.returncode == 2 and "an image needs `run.executor" in wrong.stderr, wrong.stderr


WORN = [
    *SMALL, "--set", "device.blocks_per_plane=40", "--set", "ftl.allocation=CWDP",
    "--set", "device.bad_blocks.weibull={ factory = 0, life = 8, shape = 2 }",
]  # fmt: skip


@needs_qemu
def test_a_worn_drive_takes_no_more_writes_and_keeps_what_it_has(tmp_path: Path) -> None:
    serving = Serving(tmp_path, config=WORN)
    rounds, said = 0, ""
    while rounds < 200:
        done, said = serving.io(f"write -P {rounds % 250 + 1} 0 4M")
        if done < 1:
            break
        rounds += 1
    assert 2 < rounds < 200, said
    done, said = serving.io(
        "write -P 9 0 64k", "discard 0 64k", f"read -P {(rounds - 1) % 250 + 1} 4032k 64k"
    )
    assert done == 1 and "Operation not permitted" in said, said
    told = serving.end()
    assert told["end_of_life"] is True
    again = Serving(tmp_path, config=WORN)
    assert again.io(f"read -P {(rounds - 1) % 250 + 1} 4032k 64k")[0] == 1
    again.end()
    # Blocks fail by the seed, so that it is part of what the image is of.
    other = [sys.executable, "-m", "ftlab", "serve", *WORN, "--set", "run.seed=7", "--image", "disk"]
    done_other = subprocess.run(other, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done_other.returncode == 2 and "seed = 7" in done_other.stderr, done_other.stderr


@pytest.mark.parametrize("power_loss", ["volatile", "protected"])
def test_a_run_with_real_bytes_goes_to_the_end(tmp_path: Path, power_loss: str) -> None:
    command = [
        sys.executable, "-m", "ftlab", "run", *WORN, "--set", "workload.volume=100x", "--set", "run.precondition=none",
        "--set", "ftl.write_buffer.lru.size=64KiB", "--set", f"ftl.write_buffer.lru.power_loss={power_loss}",
        "--set", "run.executor=device", "--image", "disk", "--json",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["end_of_life"]["reached"] and told["device"]["sectors_checked_after_restart"] > 4000, told[
        "device"
    ]


SLOW = [
    *SMALL, "--set", 'device.page_size="4KiB"', "--set", "device.timing.read=3ms",
    "--set", "device.timing.program=20ms",
]  # fmt: skip


@needs_qemu
def test_a_paced_drive_answers_at_the_times_of_the_model(tmp_path: Path) -> None:
    paced = Serving(tmp_path, "--pace", config=SLOW)
    began = time.monotonic()
    done, said = paced.io(*(f"write -P 7 {page * 4096} 4k" for page in range(8)), "flush")
    took = time.monotonic() - began
    # The last one is that of the flush, of which qemu-io says nothing.
    assert done == 8, said
    assert took >= 8 * 0.02, f"eight writes took {took} s"
    assert paced.io(*(f"read -P 7 {page * 4096} 4k" for page in range(8)))[0] == 8
    told = paced.end()["pace"]
    assert isinstance(told, dict)
    latency = told["latency"]
    assert told["completed"] >= 16 and 20_000 <= latency["write"]["mean"] < 21_000, told
    assert 3_000 <= latency["read"]["mean"] < 4_000, told
    # The model begins with what the drive holds, and an answer without it comes at once.
    again = Serving(tmp_path, "--pace", config=SLOW)
    assert again.io("read -P 7 0 4k", "read -P 0 1M 4k")[0] == 2
    told = again.end()["pace"]
    assert isinstance(told, dict)
    assert told["latency"]["read"]["max"] >= 3_000 > told["latency"]["read"]["p50"] >= 0, told
    plain = Serving(tmp_path, config=SLOW)
    assert plain.end()["pace"] is None
