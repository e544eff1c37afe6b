"""What fio makes of the job files of `tests/test_fio_same.py`: writes `tests/fio_logs.json`, where fio is installed.

python -m evidence.fio_logs [CASE...]
"""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

TESTS = Path(__file__).parents[1] / "tests"


def log_of(fio: str, job: str, place: Path, size: int) -> list[tuple[str, int, int]]:
    """The requests that fio sends for a job file on a file of so many bytes, in order."""
    with (place / "drive").open("wb") as drive:
        drive.truncate(size)
    text = job.replace("[global]\n", f"[global]\nwrite_iolog={place}/log\n", 1)
    (place / "job.fio").write_text(text, encoding="utf-8")
    done = subprocess.run([fio, "job.fio"], cwd=place, check=False, capture_output=True, timeout=120)
    if done.returncode:
        sys.exit(f"{job}\n{done.stderr.decode()}{done.stdout.decode()}")
    found = []
    for line in (place / "log").read_text(encoding="utf-8").splitlines():
        if match := re.fullmatch(r"\d+ (\S+) (read|write|trim|sync|datasync) (\d+) (\d+)", line):
            kind = "sync" if match[2] == "datasync" else match[2]
            # Files of `nrfiles` are JOB.COPY.FILE, and lie one behind the other.
            number = re.search(r"\.0\.(\d+)$", match[1])
            begin = int(number[1]) * (place / match[1]).stat().st_size if number else 0
            found.append((kind, begin + int(match[3]), int(match[4])))
    return found


def main() -> None:
    """Writes the data; of the cases that are named, or of all."""
    fio = os.environ.get("FTLAB_FIO") or shutil.which("fio")
    if fio is None:
        sys.exit("fio is not installed (or name it in FTLAB_FIO)")
    data = TESTS / "fio_logs.json"
    data.write_text("{}", encoding="utf-8") if not data.exists() else None
    sys.path.insert(0, str(TESTS))
    same = importlib.import_module("test_fio_same")
    found = dict(same.LOGS) if sys.argv[1:] else {}
    for name, (_, words) in same.CASES.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        with TemporaryDirectory() as place:
            found[name] = same.told(log_of(fio, same.text(words, "drive"), Path(place), same.DRIVE))
        print(name, found[name]["kinds"], found[name]["flushes"])
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(found[name])}" for name in same.CASES)
    data.write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
