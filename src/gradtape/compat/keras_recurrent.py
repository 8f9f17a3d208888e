"""The loops of Keras's LSTM and GRU, where no mask or dropout is asked for.

Keras runs the Python of a whole layer for each step of a sequence, some 0.45 ms. Here one product computes what all
steps take from the inputs, and a step is a dozen operations: about 0.06 ms operation by operation, and less to compile.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from gradtape import convert_to_tensor, nest, reverse, scan, sigmoid, split, tanh, transpose

from ..core.tensor import Tensor

_Steps = Callable[..., list[Tensor]]


def lstm_steps(layer: Any, sequences: Tensor, states: list[Tensor]) -> list[Tensor]:
    """The states h and c of an LSTM after each step; `sequences` has the steps as its first axis."""
    cell = layer.cell
    inputs = sequences @ convert_to_tensor(cell.kernel)
    if cell.use_bias:
        inputs = inputs + convert_to_tensor(cell.bias)
    recurrent_kernel = convert_to_tensor(cell.recurrent_kernel)
    activation, gate = _activations(cell)

    def step(before: list[Tensor], x: Tensor) -> list[Tensor]:
        h, c = before
        i, f, new, o = split(x + h @ recurrent_kernel, 4, axis=-1)
        c = gate(f) * c + gate(i) * activation(new)
        return [gate(o) * activation(c), c]

    return scan(step, inputs, states)


def gru_steps(layer: Any, sequences: Tensor, states: list[Tensor]) -> list[Tensor]:
    """The state of a GRU after each step, with the reset gate after the product."""
    cell = layer.cell
    inputs = sequences @ convert_to_tensor(cell.kernel)
    biases = convert_to_tensor(cell.bias) if cell.use_bias else None
    if biases is not None:
        inputs = inputs + biases[0]
    recurrent_kernel = convert_to_tensor(cell.recurrent_kernel)
    activation, gate = _activations(cell)

    def step(before: list[Tensor], x: Tensor) -> list[Tensor]:
        (h,) = before
        inner = h @ recurrent_kernel
        if biases is not None:
            inner = inner + biases[1]
        x_z, x_r, x_new = split(x, 3, axis=-1)
        h_z, h_r, h_new = split(inner, 3, axis=-1)
        z = gate(x_z + h_z)
        new = activation(x_new + gate(x_r + h_r) * h_new)
        return [z * h + (1 - z) * new]

    return scan(step, inputs, states)


def use_steps(module: ModuleType, name: str, steps: _Steps, can_use: Callable[[Any], bool]) -> None:
    """Have a layer of Keras compute its sequences by `steps` where it has neither mask nor dropout.

    Args:
        module: of Keras, which defines the layer and its cell.
        name: of the layer.
        steps: takes the layer, the sequences and the first states; gives the states after each step.
        can_use: whether the cell of a layer is one that `steps` knows.
    """
    layer_class, cell_class = getattr(module, name), getattr(module, f"{name}Cell")
    by_keras = layer_class.inner_loop

    @functools.wraps(by_keras)
    def inner_loop(self: Any, sequences: Any, initial_state: Any, mask: Any, training: bool = False) -> Any:
        cell = self.cell
        if (
            any(m is not None for m in nest.flatten(mask))
            or self.unroll
            or self.use_cudnn is True
            or (training and (cell.dropout or cell.recurrent_dropout))
            or type(cell) is not cell_class
            or cell.compute_dtype != self.compute_dtype
            or not sequences.shape[1]
            or not can_use(cell)
            or convert_to_tensor(sequences).dtype != convert_to_tensor(cell.kernel).dtype
        ):
            return by_keras(self, sequences, initial_state, mask, training)
        rows = transpose(convert_to_tensor(sequences), [1, 0, 2])
        if self.go_backwards:
            rows = reverse(rows, [0])
        states = [convert_to_tensor(state) for state in nest.flatten(initial_state)]
        after = steps(self, rows, states)
        last = [state[-1] for state in after]
        outputs = transpose(after[0], [1, 0, 2]) if self.return_sequences else last[0][:, None]
        return last[0], outputs, last

    layer_class.inner_loop = inner_loop


def _activations(cell: Any) -> list[Callable[[Tensor], Tensor]]:
    """The activation of a cell and that of its gates; Keras's own take 10 us more."""
    from keras.src import activations

    known = {activations.tanh: tanh, activations.sigmoid: sigmoid}
    return [known.get(f, f) for f in (cell.activation, cell.recurrent_activation)]
