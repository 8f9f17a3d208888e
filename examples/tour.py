"""A tour of the tape: small programs, their gradients with explanations, and a picture at the end.

Run it with `make demo`, or with `python examples/tour.py --out picture.png`; the picture needs matplotlib.
"""

import argparse
import inspect
import textwrap

import numpy as np

import gradtape as tf


def sum_of_a_tensor():
    x = tf.Variable(tf.random.normal((2, 2), mean=2, stddev=0.5))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(x)
    return {"d loss / d x": tape.gradient(loss, x)}


def mean_of_a_tensor():
    x = tf.Variable(tf.random.normal((2, 2), mean=2, stddev=0.5))
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(x)
    return {"d loss / d x": tape.gradient(loss, x)}


def one_element():
    x = tf.Variable(tf.random.normal((2, 2), mean=2, stddev=0.5))
    with tf.GradientTape() as tape:
        loss = x[0, 1]
    return {"d loss / d x": tape.gradient(loss, x)}


def element_of_a_constant():
    x = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        element = x[1, 2]
    return {"d x[1, 2] / d x": tape.gradient(element, x)}


def element_of_a_product():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    y = tf.constant([[5.0, 6.0], [7.0, 8.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        z = tf.matmul(x, y)
        element = z[0, 0]
    return {"d z[0, 0] / d x": tape.gradient(element, x)}


def product_of_matrices():
    matrix = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    other = tf.constant([[5.0, 6.0], [7.0, 8.0]])
    with tf.GradientTape() as tape:
        result = tf.matmul(matrix, other)
    return {"d result / d matrix": tape.gradient(result, matrix)}


def square_of_each_element():
    matrix = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        result = tf.square(matrix)
    return {"d result / d matrix": tape.gradient(result, matrix)}


def matrix_times_its_own_sums():
    matrix = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        sums = tf.reduce_sum(matrix, axis=0)
        result = tf.matmul(matrix, tf.expand_dims(sums, axis=1))
    return {"d result / d matrix": tape.gradient(result, matrix)}


def scalar_times_tensor():
    s = tf.constant(2.0)
    t = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch([s, t])
        output = s * t
    ds, dt = tape.gradient(output, [s, t])
    return {"d output / d s": ds, "d output / d t": dt}


def gradient_descent():
    t = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    found = {}
    for start in (2.0, 1.0):
        s = tf.Variable(start)
        optimizer = tf.optimizers.SGD(learning_rate=0.01)
        for _ in range(10):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.square(s * t - 2.0 * t))
            optimizer.apply_gradients([(tape.gradient(loss, s), s)])
        found[f"s, ten steps from {start}"] = s
    return found


def linear_regression():
    w, b = tf.Variable(2.0), tf.Variable(1.0)
    x = tf.constant([1.0, 2.0, 3.0, 4.0])
    y = tf.constant([3.0, 5.0, 7.0, 9.0])
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(w * x + b - y))
    dw, db = tape.gradient(loss, [w, b])
    return {"d loss / d w": dw, "d loss / d b": db}


def result_in_between():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x**2
        z = y + x
    dx, dy = tape.gradient(z, [x, y])
    return {"d z / d x": dx, "d z / d y": dy}


def watched_constant():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x**2
    return {"d y / d x": tape.gradient(y, x)}


def no_gradient():
    x, unused, constant = tf.Variable(3.0), tf.Variable(1.0), tf.constant(2.0)
    with tf.GradientTape() as tape:
        y = constant * x**2
    dx, du, dc = tape.gradient(y, [x, unused, constant])
    return {"d y / d x": dx, "d y / d unused": du, "d y / d constant": dc}


def second_derivative():
    x = tf.Variable(3.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x**3
        first = inner.gradient(y, x)
    return {"first": first, "second": outer.gradient(first, x)}


def jacobian():
    x = tf.Variable([2.0, 3.0])
    with tf.GradientTape() as tape:
        y = tf.stack([x[0] * x[1], x[0] + x[1], x[0] ** 2])
    return {"d y[i] / d x[j]": tape.jacobian(y, x)}


TOUR = {
    "A tensor becomes a scalar": {
        sum_of_a_tensor: "Every element enters the sum once, with weight 1.",
        mean_of_a_tensor: "Each of the four elements has weight 1/4.",
        one_element: "The loss depends on the selected element only.",
    },
    "The gradient of one element": {
        element_of_a_constant: "A constant must be watched; an element depends on itself only.",
        element_of_a_product: "z[0, 0] is row 0 of x times column 0 of y: that column in row 0, and 0 in row 1.",
    },
    "With respect to a matrix": {
        product_of_matrices: "A target that is not a scalar is summed first: the row sums of other, in every row.",
        square_of_each_element: "The elements are independent, so each has its own derivative, 2x.",
        matrix_times_its_own_sums: "The sum of the result is sums . sums, and its derivative is 2 sums in every row.",
    },
    "A scalar times a tensor": {
        scalar_times_tensor: "Every element of the output depends on s, so its gradient is a sum: 1 + 2 + 3 + 4.",
        gradient_descent: "At s = 2 the loss has its minimum and s stays; from another start s converges to 2.",
    },
    "The tape": {
        linear_regression: "The line y = 2x + 1 fits these points exactly, so both gradients are 0.",
        result_in_between: "An intermediate result can be a source: dz/dy is 1, and dz/dx adds both paths, 2x + 1.",
        watched_constant: "Variables are watched automatically, constants on request: 2x at 2.",
    },
    "None, higher orders, Jacobians": {
        no_gradient: "None is not zero: y does not depend on unused, and the constant is not watched.",
        second_derivative: "A gradient is a computation like any other; an outer tape records it: 3x^2, 6x.",
        jacobian: "One row for each output, one column for each input, computed in one sweep.",
    },
}


def print_heading(heading):
    print(heading)
    print("=" * len(heading) + "\n")


def print_program(program):
    print(textwrap.indent(inspect.getsource(program), "    "))


def show(program, why):
    """Print a program, its results, and one sentence about it."""
    print_program(program)
    results = program()
    margin = max(map(len, results))
    for name, value in results.items():
        head = f"  {name:>{margin}} = "
        text = str(value if value is None else value.numpy())
        print(head + text.replace("\n", "\n" + " " * len(head)))
    print(f"\n  {why}\n\n")


def stirred(field, flow, steps):
    """Simulate a square field that a flow transports, that diffuses, and that reacts with itself."""
    size = field.shape[0]
    next_to = np.eye(size, k=1, dtype=np.float32)
    slope = tf.constant((next_to - next_to.T) / 2)
    bend = tf.constant(next_to + next_to.T - 2 * np.eye(size, dtype=np.float32))
    across, down = flow
    for _ in range(steps):
        carried = down * (slope @ field) - across * (field @ slope)
        spread = field @ bend + bend @ field
        field = field - carried + 0.05 * spread + 0.005 * (field - field**3)
    return field


def gradient_of_one_element(start, flow, place):
    with tf.GradientTape() as tape:
        end = stirred(start, flow, steps=300)
        element = end[place]
    return end, tape.gradient(element, start)


def draw(path):
    """Draw a heat map of the gradient of one element of a stirred field by the initial field."""
    from matplotlib.figure import Figure

    y, x = np.mgrid[-1:1:96j, -1:1:96j].astype(np.float32)
    nearness = np.exp(-2 * (x**2 + y**2))
    flow = -0.5 * y * nearness, 0.5 * x * nearness
    start = tf.Variable(np.tanh(3 * np.sin(4 * x + 0.6)) * np.exp(-(x**2) - y**2))
    row, column = 60, 70
    end, gradient = gradient_of_one_element(start, flow, (row, column))

    figure = Figure(figsize=(13, 4.4), layout="constrained")
    figure.suptitle("Where does the value at + come from?  A gradient, element by element")
    left, middle, right = figure.subplots(1, 3, sharey=True)
    left.set_title("the field at first")
    middle.set_title("stirred, 300 steps later")
    for axes, values in ((left, start), (middle, end)):
        image = axes.imshow(values.numpy(), cmap="RdBu_r", vmin=-1, vmax=1, origin="lower")
    figure.colorbar(image, ax=[left, middle], label="value", shrink=0.9)
    image = right.imshow(gradient.numpy(), cmap="magma", origin="lower")
    right.set_title(f"d end[{row}, {column}] / d start")
    figure.colorbar(image, ax=right, label="gradient", shrink=0.9, format="%.0e")
    rows = columns = np.arange(96)
    right.streamplot(columns, rows, *flow, color="#ffffff50", linewidth=0.6, arrowsize=0.7, density=0.7)
    left.set_ylabel("row")
    for axes in (middle, right):
        axes.plot(column, row, "+", color="white", markersize=12, markeredgewidth=2)
    for axes in (left, middle, right):
        axes.set_xlabel("column")
    figure.savefig(path, dpi=130)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="tour.png", help="where the picture goes (default: %(default)s)")
    path = parser.parse_args().out

    print("import gradtape as tf\n\n")
    for heading, programs in TOUR.items():
        print_heading(heading)
        for program, why in programs.items():
            show(program, why)
    print_heading("A picture")
    print_program(gradient_of_one_element)
    draw(path)
    print("  What is now at one place was carried there by the flow: the gradient shows where it began.")
    print(f"  The picture is in {path}")


if __name__ == "__main__":
    main()
