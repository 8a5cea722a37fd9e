"""The libraries that players use import and compute behind all flags and the list of kernel calls."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from docker.types import Mount

from arena_kit.environment.spec import Limits
from arena_kit.sandbox.base import Launch, PlayerDidNotStart
from arena_kit.sandbox.channel import Channel
from arena_kit.sandbox.docker import PACKAGES, DockerSandbox

pytestmark = pytest.mark.docker
LIMITS = Limits(start_seconds=120.0)

BUILT_IN = {
    "numpy": """
import numpy
rng = numpy.random.default_rng(1)
a = rng.standard_normal((300, 300))
print(numpy.allclose(numpy.linalg.inv(a) @ a, numpy.eye(300)), numpy.fft.fft(numpy.ones(8))[0].real)
""",
    "threads": """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool:
    print(sum(pool.map(lambda number: number ** 2, range(100))))
""",
    "subprocess": """
import subprocess, sys
print(subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True, check=True).stdout)
""",
    "asyncio": """
import asyncio
async def main():
    reader = await asyncio.create_subprocess_exec("echo", "child", stdout=asyncio.subprocess.PIPE)
    answers = await asyncio.gather(asyncio.sleep(0.01, "awake"), reader.stdout.read())
    await reader.wait()
    return answers
print(*asyncio.run(main()))
""",
    "multiprocessing": """
import multiprocessing
context = multiprocessing.get_context("fork")
here, there = context.Pipe()
child = context.Process(target=lambda: there.send("from the child"))
child.start()
print(here.recv())
child.join()
print(child.exitcode)
""",
    "sqlite": """
import sqlite3
print(sqlite3.connect("/tmp/moves.db").execute("SELECT 6 * 7").fetchone()[0])
""",
}
INSTALLED = {
    "scipy": """
import numpy, scipy.linalg, scipy.optimize, scipy.sparse.linalg
best = scipy.optimize.minimize(lambda x: ((x - 3) ** 2).sum(), numpy.zeros(4), method="L-BFGS-B").x
assert numpy.allclose(scipy.linalg.expm(numpy.zeros((3, 3))), numpy.eye(3))
print(numpy.round(best, 3).tolist(), scipy.sparse.linalg.spsolve(scipy.sparse.eye(3, format="csc"), [1, 2, 3]).sum())
""",
    "sklearn": """
import warnings
warnings.simplefilter("ignore")
import numpy
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier
x = numpy.random.default_rng(1).standard_normal((200, 4))
y = (x[:, 0] > 0).astype(int)
print(RandomForestClassifier(10, n_jobs=2, random_state=1).fit(x, y).score(x, y) > 0.9)
print(MLPClassifier((8,), max_iter=20, random_state=1).fit(x, y).predict(x).shape)
""",
    "onnxruntime": """
import numpy, onnx, onnxruntime
from onnx import TensorProto, helper
one, two = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy")
graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [one], [two])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
options = onnxruntime.SessionOptions()
# Without a number it gives each of its threads a core, which is refused here, and says so.
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
print(session.run(None, {"x": numpy.array([-1, 0, 1, 2], "float32")})[0].tolist())
""",
    "torch": """
import torch
torch.manual_seed(1)
net = torch.nn.Sequential(torch.nn.Conv2d(2, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(160, 7))
optimizer = torch.optim.Adam(net.parameters())
loss = torch.nn.functional.cross_entropy(net(torch.randn(16, 2, 6, 7)), torch.randint(0, 7, (16,)))
loss.backward()
optimizer.step()
torch.save(net.state_dict(), "/tmp/net.pt")
net.load_state_dict(torch.load("/tmp/net.pt"))
with torch.inference_mode():
    print(tuple(torch.jit.script(net)(torch.randn(1, 2, 6, 7)).shape))
""",
}
PRINTED = {
    "numpy": "True 8.0", "threads": "328350", "subprocess": "42", "asyncio": "awake b'child\\n'",
    "multiprocessing": "from the child 0", "sqlite": "42", "scipy": "[3.0, 3.0, 3.0, 3.0] 6.0",
    "sklearn": "True (200,)", "onnxruntime": "[0.0, 0.0, 1.0, 2.0]", "torch": "(1, 7)",
}  # fmt: skip
REQUIREMENTS = ("scipy", "scikit-learn", "onnx", "onnxruntime", "torch==2.13.0")


@pytest.fixture(scope="module")
def root() -> Iterator[Path]:
    # Paths of sockets must be short, and players run as another user.
    folder = Path(tempfile.mkdtemp(prefix="arena-libraries-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


class WithPackages(DockerSandbox):
    """A sandbox that mounts the libraries where images have them, because making a layer of this size takes minutes."""

    def _options(self, launch: Launch, channel: Channel) -> dict[str, Any]:
        options = super()._options(launch, channel)
        packages = self._channel_dir.parent / "packages"
        packages.mkdir(exist_ok=True)
        options["mounts"].append(Mount(PACKAGES, str(packages), type="bind", read_only=True))
        return options


def printed(source: str, root: Path, name: str) -> str:
    """Return the output of a player that runs this source while it is loaded and then ends."""
    player = root / "player"
    player.mkdir(exist_ok=True)
    (player / "player.py").write_text(f"{source}\nprint('the end', flush=True)\nraise SystemExit\n")
    sandbox = WithPackages(base_image=settings.PLAYER_BASE_IMAGE, channel_dir=root / "channel")
    with pytest.raises(PlayerDidNotStart) as caught:
        sandbox.launch(Launch(f"folder:{player}", f"arena-test-{name}-{os.getpid()}", LIMITS, {}))
    return " ".join(caught.value.log.partition("Traceback")[0].split())


def test_what_the_base_image_brings_works(root: Path) -> None:
    expected = " ".join(PRINTED[library] for library in BUILT_IN)
    assert printed("\n".join(BUILT_IN.values()), root, "built-in") == f"{expected} the end"


@pytest.fixture(scope="module")
def packages(root: Path) -> Path:
    folder = root / "packages"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", "--target", str(folder)]
    subprocess.run([*command, *REQUIREMENTS], check=True)
    return folder


@pytest.mark.network
@pytest.mark.nightly
@pytest.mark.parametrize("library", INSTALLED)
def test_a_common_library_works(library: str, root: Path, packages: Path) -> None:
    assert printed(INSTALLED[library], root, library) == f"{PRINTED[library]} the end"
