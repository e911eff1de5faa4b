"""Products by the wider library: what `torch.nn.functional.linear` gives, forward and backward, whatever the sizes."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from attnlab.models import products
from attnlab.models.initial import linear as layer
from attnlab.models.products import WideLinear, adder, linear, product, rounded, usual_products, wide_products
from attnlab.seeds import torch_generator

SIZES = st.integers(1, 40) | st.integers(120, 150)
LAYOUTS = ("whole", "transposed", "part", "part transposed")
NEAR = {"rtol": 1e-5, "atol": 1e-5}


@pytest.fixture(params=[True, False], ids=["wide", "plain"])
def either_library(request, monkeypatch):
    """Both libraries, also where the wide one is not at hand."""
    if not request.param:
        monkeypatch.setattr(products, "wide_products", lambda: False)


@pytest.fixture(scope="module", autouse=True)
def little_ones_too():
    """The wide library also for products that are too small to gain by it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "LITTLE", 0)
        yield


def table(rows, columns, layout="whole", dtype=torch.float32, seed=0):
    """(rows, columns) normal numbers, laid out in memory as said."""
    generator = torch_generator(seed, f"table {rows} {columns}")
    if layout == "whole":
        return torch.empty(rows, columns, dtype=dtype).normal_(generator=generator)
    if layout == "transposed":
        return torch.empty(columns, rows, dtype=dtype).normal_(generator=generator).t()
    wider = torch.empty(2 * rows, columns + 3, dtype=dtype).normal_(generator=generator)
    if layout == "part":
        return wider[::2, 2 : 2 + columns]
    wider = torch.empty(columns + 3, 2 * rows, dtype=dtype).normal_(generator=generator)
    return wider[2 : 2 + columns, ::2].t()


def double(x):
    return None if x is None else x.detach().double()


def check_equation(found, x, weight, added=0.0):
    """``found`` is x W^T + added, up to the rounding of any order of its additions: half an ulp of the absolute terms'
    sum for each addition.
    """
    terms = "ri,oi->ro", double(x), double(weight)
    expected = torch.einsum(*terms) + added
    largest = torch.einsum(terms[0], *(part.abs() for part in terms[1:])) + abs(added)
    assert ((found.double() - expected).abs() <= (x.shape[1] + 1) * 2**-24 * largest).all()


@given(SIZES, SIZES, SIZES, st.sampled_from(LAYOUTS), st.sampled_from(LAYOUTS), st.booleans())
def test_a_product_is_that_of_the_equation(rows, inputs, outputs, of_x, of_weight, biased):
    x, weight = table(rows, inputs, of_x), table(outputs, inputs, of_weight, seed=1)
    bias = table(1, outputs, seed=2)[0] if biased else None
    found = product(x, weight, bias)
    assert found.shape == (rows, outputs)
    assert found.is_contiguous()
    check_equation(found, x, weight, 0.0 if bias is None else double(bias))


@pytest.mark.parametrize(("rows", "inputs"), [(0, 5), (5, 0), (0, 0)])
def test_a_product_of_nothing_is_zeros(rows, inputs, either_library):
    assert torch.equal(product(torch.ones(rows, inputs), torch.ones(3, inputs)), torch.zeros(rows, 3))


@given(st.integers(1, 40), SIZES, SIZES, st.integers(1, 40), st.sampled_from(LAYOUTS))
def test_a_weight_laid_out_once_serves_any_number_of_rows(rows, inputs, outputs, expected_rows, of_place):
    x, weight, place = table(rows, inputs), table(outputs, inputs, seed=1), table(rows, outputs, of_place, seed=2)
    before = double(place).clone()
    adder(weight, expected_rows)(place, x)
    check_equation(place, x, weight, before)


@given(SIZES, SIZES, SIZES, st.sampled_from(LAYOUTS))
def test_a_product_is_written_where_it_is_wanted(rows, inputs, outputs, of_out):
    x, weight, out = table(rows, inputs), table(outputs, inputs, seed=1), table(rows, outputs, of_out, seed=2)
    assert product(x, weight, out=out) is out
    check_equation(out, x, weight)


def test_the_usual_library_is_used_where_that_is_asked_for_and_nowhere_after():
    x, weight = table(17, 300), table(5, 300, seed=1)
    with FlopCounterMode(display=False) as counted, usual_products():
        result = product(x, weight)
        linear(x, weight)
    assert torch.equal(result, x @ weight.t())
    assert counted.get_total_flops() == 2 * 2 * 17 * 300 * 5
    with FlopCounterMode(display=False) as counted:
        product(x, weight)
    assert (counted.get_total_flops() == 0) == wide_products()


@pytest.mark.parametrize("rows", [63, 65])
def test_a_small_product_goes_to_the_usual_library(rows, monkeypatch):
    monkeypatch.setattr(products, "LITTLE", 2**19)
    x, weight, place = table(rows, 64), table(128, 64, seed=1), table(rows, 128, seed=2)
    with FlopCounterMode(display=False, custom_mapping={torch.ops.aten.addmm_: lambda *_, **__: 1}) as counted:
        product(x, weight)
        linear(x, weight)
        adder(weight, rows)(place, x)
    assert (counted.get_total_flops() > 0) == (rows == 63 or not wide_products())


def test_what_is_written_into_a_product_changes_nothing_else(either_library):
    x, weight = table(17, 20), table(5, 20, seed=1)
    before = x.clone(), weight.clone()
    product(x, weight).fill_(7.0)
    assert torch.equal(x, before[0])
    assert torch.equal(weight, before[1])


@given(SIZES, SIZES, SIZES, st.sampled_from(LAYOUTS))
def test_gradients_are_those_of_the_library(rows, inputs, outputs, of_weight):
    expected_of = functional.linear
    inputs_of = [table(rows, inputs), table(outputs, inputs, of_weight, seed=1), table(1, outputs, seed=2)[0]]
    passed_back = table(rows, outputs, seed=3)
    gradients = []
    for function in (linear, expected_of):
        leaves = [part.detach().clone(memory_format=torch.preserve_format).requires_grad_() for part in inputs_of]
        gradients.append(torch.autograd.grad(function(*leaves), leaves, passed_back))
    for found, expected in zip(*gradients, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_only_gradients_that_are_wanted_are_made(either_library):
    x, weight = table(6, 5), table(4, 5, seed=1).requires_grad_()
    linear(x, weight).sum().backward()
    torch.testing.assert_close(weight.grad, x.sum(0).expand(4, -1), **NEAR)
    x.requires_grad_()
    assert torch.autograd.grad(linear(x, weight.detach()).sum(), x)[0].shape == x.shape


def test_in_64_bits_gradients_and_second_derivatives_are_exact():
    parts = [table(*shape, dtype=torch.float64).requires_grad_() for shape in ((3, 4), (2, 4))]
    bias = torch.ones(2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(linear, (*parts, bias))
    assert torch.autograd.gradgradcheck(linear, (*parts, bias))


def test_second_derivatives_in_32_bits_are_those_of_the_library(either_library):
    found = []
    for function in (linear, functional.linear):
        x, weight = (table(*shape, seed=4).requires_grad_() for shape in ((18, 7), (3, 7)))
        (slope,) = torch.autograd.grad(function(x, weight).tanh().sum(), x, create_graph=True)
        found.append(torch.autograd.grad(slope.square().sum(), (x, weight)))
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, **NEAR)


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4), (2, 1, 3, 4)])
def test_a_layer_reads_vectors_of_any_shape_and_starts_as_the_library_s(shape, either_library):
    ours, theirs = (
        layer(4, 5, generator=torch_generator(1, "layer"), kind=kind) for kind in (WideLinear, torch.nn.Linear)
    )
    x = torch.ones(shape)
    assert torch.equal(ours.weight, theirs.weight)
    torch.testing.assert_close(ours(x), theirs(x), **NEAR)
    assert ours(x).shape == (*shape[:-1], 5)


@given(st.integers(1, 3000), st.integers(1, 300))
def test_rounding_adds_zeros_alone_and_none_to_small_and_large_sizes(rows, columns):
    x = table(rows, columns)
    wider = rounded(x, columns=True)
    assert torch.equal(wider[:rows, :columns], x)
    assert not wider[rows:].any()
    assert not wider[:, columns:].any()
    assert rounded(x).shape == (len(wider), columns)
    for size, before in zip(wider.shape, x.shape, strict=True):
        between = products.SMALL < before < products.LARGE
        assert size % products.ROUND == 0 if between else size == before
        assert size - before < products.ROUND


def test_an_operation_that_is_missing_or_wrong_is_not_used(monkeypatch):
    def missing(*_):
        raise AttributeError("no such operation")

    for wrong in (missing, lambda x, weight, bias: torch.mm(x, weight.t())):
        monkeypatch.setattr(products, "_wide", wrong)
        assert not wide_products.__wrapped__()


def test_the_trial_does_not_depend_on_the_default_type():
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        assert wide_products.__wrapped__() == wide_products()
    finally:
        torch.set_default_dtype(before)
