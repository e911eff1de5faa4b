"""Plain descent against the library's."""

import subprocess
import sys

import pytest
import torch
from torch import nn

from attnlab.runs.optimisers import Descent


@pytest.mark.parametrize("rate", [0.1, 0.3, 1.0, 1e-3])
@pytest.mark.parametrize("size", [1, 7, 33, 5000])
def test_it_moves_to_the_bits_of_the_library(size, rate):
    ours, theirs = (nn.Parameter(torch.linspace(-1, 3, size)) for _ in range(2))
    still = nn.Parameter(torch.ones(2))
    descent, library = Descent([ours, still], rate), torch.optim.SGD([theirs], lr=rate, fused=True)
    for _ in range(3):
        for parameter, optimiser in ((ours, descent), (theirs, library)):
            optimiser.zero_grad()
            parameter.cos().sum().backward()
            optimiser.step()
    assert torch.equal(ours, theirs)
    assert torch.equal(still, torch.ones(2)), "a parameter without a gradient moved"
    assert not descent.state


def test_it_forgets_gradients():
    parameter = nn.Parameter(torch.ones(2))
    parameter.sum().backward()
    Descent([parameter], 0.1).zero_grad()
    assert parameter.grad is None


def test_it_needs_no_compiler():
    """Loading that takes a worker two seconds."""
    script = (
        "import sys, torch\n"
        "import attnlab.runs.worker\n"
        "import attnlab.families.copying.problem, attnlab.families.topics.problem\n"
        "from attnlab.runs.optimisers import SgdSpec\n"
        "parameter = torch.nn.Parameter(torch.ones(2))\n"
        "optimiser = SgdSpec().build([parameter])\n"
        "parameter.sum().backward()\n"
        "optimiser.step()\n"
        "sys.exit('torch._dynamo' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
