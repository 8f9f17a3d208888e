"""One step of Adam over 200 small variables of 10 to 1000 elements, their gradients given.

The step returns the variables after the update, and goes on from there at the next call.
"""

NUMBER = 15
TITLE = "Adam over 200 variables of 10 to 1000"

SIZES = [10 + 990 * i // 199 for i in range(200)]
RATE = 0.001


def inputs(rng):
    return [rng.standard_normal(size, dtype="float32") for size in 2 * SIZES]


def in_tensorflow(tf, *arrays):
    variables = [tf.Variable(a) for a in arrays[:200]]
    optimizer = tf.optimizers.Adam(RATE)
    optimizer.build(variables)

    def step(*gradients):
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return variables

    return step, [tf.constant(a) for a in arrays[200:]]


def in_torch(torch, *arrays):
    variables = [torch.tensor(a, requires_grad=True) for a in arrays[:200]]
    optimizer = torch.optim.Adam(variables, lr=RATE, eps=1e-7)

    def step(*gradients):
        for variable, gradient in zip(variables, gradients, strict=True):
            variable.grad = gradient
        optimizer.step()
        return variables

    return step, [torch.tensor(a) for a in arrays[200:]]
