# Every target does its own set-up: a fresh clone needs nothing but make and Python 3.11, 3.12 or 3.13.

PYTHON ?= python3
# A Python named on the command line has its own environment: .venv-3.13 for PYTHON=python3.13.
VENV := .venv$(if $(filter file,$(origin PYTHON)),,-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])'))
# The libraries that `make bench` compares with; none for PEERS=. torch comes first: see its rule.
PEERS ?= torch tensorflow-cpu jax autograd
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
# Each library is measured with the kernels that it chooses for this processor, whatever the environment asks of NumPy's.
MEASURE := env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE

.DEFAULT_GOAL := help
.PHONY: help demo examples test test-hot test-first-calls page test-page docs fuzz bench bench-compiled bench-hot bench-keras test-keras keras-source clean
.NOTPARALLEL:
.DELETE_ON_ERROR:

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /make \1\t/p' $(MAKEFILE_LIST) | expand -t 21

demo: $(VENV)/.installed-plot ## take the tour: programs, their gradients, and a picture
	@$(VENV)/bin/python examples/tour.py

EXAMPLES := regression fluid influence digits sequence generate second_order keras_fit keras_loop

examples: $(VENV)/.installed-examples ## run the example programs; their pictures go to pictures/
	@mkdir -p pictures
	@set -e; for name in $(EXAMPLES); do \
	    printf '\n%s\n' "== $$name =="; \
	    $(VENV)/bin/python examples/$$name.py --out pictures/$$name.png; \
	done

test: $(VENV)/.installed-dev ## tests, doctests, snippets, ruff, mypy
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(VENV)/bin/pytest

HOT := test_tape.py test_variable.py test_optimizers.py test_jacobian.py test_custom_gradient.py test_function.py \
    test_function_gradients.py test_function_variables.py test_indexed_slices.py test_numpy_behavior.py test_open_lengths.py \
    test_random.py test_scale.py documents fuzz hot

test-hot: $(VENV)/.installed-dev ## tests of tapes, functions, optimizers and documents with hot tapes from the second pass on
	GRADTAPE_HOT=always $(VENV)/bin/pytest $(HOT:%=tests/%)

FIRST_CALLS := test_function.py test_function_gradients.py test_function_variables.py test_function_arguments.py \
    test_control.py test_flow.py test_random.py test_autograph.py test_conv.py test_pool.py test_scatter.py test_sorting.py \
    test_indexed_slices.py test_custom_gradient.py reference fuzz keras

test-first-calls: $(VENV)/.installed-dev ## tests of functions and Keras with every call computed by NumPy, as the first ones are
	GRADTAPE_COMPILE=never $(VENV)/bin/pytest $(FIRST_CALLS:%=tests/%)

page: page/node_modules/.installed ## build the page of tape.show from page/ (needs node and npm)
	cd page && npm run --silent check && npm run --silent build

test-page: $(VENV)/.installed-dev $(VENV)/.installed-browser page/node_modules/.installed ## the page in a browser (needs node, npm, chromium, chromium-driver)
	@mkdir -p build
	cd page && npm run --silent check && npm run --silent build ../build/page.html
	cmp build/page.html src/gradtape/explain/page.html
	$(VENV)/bin/pytest -n 0 tests/page

docs: .venv-docs/.installed-docs ## build the site in site/: guides, tutorials, API reference; and check its links
	.venv-docs/bin/python docs/make_site.py
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet --strict
	.venv-docs/bin/python docs/check_links.py site

fuzz: $(VENV)/.installed-dev ## N random programs: 10000 against JAX, 20000 compiled against eager (from FIRST on)
	GRADTAPE_FUZZ=$(or $(N),10000) GRADTAPE_FUZZ_SOURCES=$(or $(N),20000) GRADTAPE_FUZZ_FIRST=$(or $(FIRST),0) $(VENV)/bin/pytest tests/fuzz

bench: $(VENV)/.installed-plot $(PEERS:%=.venv-bench/.installed-%) ## measure against the peers (PEERS= for gradtape alone)
	$(MEASURE) $(VENV)/bin/python bench/run.py $(if $(strip $(PEERS)),--python .venv-bench/bin/python)

bench-compiled: $(VENV)/.installed-plot $(VENV)/.installed-xla $(PEERS:%=.venv-bench/.installed-%) ## the same, compiled against compiled
	$(MEASURE) $(VENV)/bin/python bench/run.py --compiled $(if $(strip $(PEERS)),--python .venv-bench/bin/python)

bench-hot: $(patsubst %,.venv-bench-hot/.installed-%,$(filter torch,$(PEERS)) gradtape) ## loops without a decorator: hot tapes on and off, PyTorch, jax.jit
	$(MEASURE) .venv-bench-hot/bin/python bench/hot_tapes.py
	$(MEASURE) .venv-bench-hot/bin/python bench/hot_tapes.py --loops

bench-keras: .venv-bench-keras/.installed-keras $(PEERS:%=.venv-bench/.installed-%) .venv-bench/.installed-keras ## Keras on gradtape, and on its other backends
	$(MEASURE) .venv-bench-keras/bin/python bench/keras_run.py $(if $(strip $(PEERS)),--python .venv-bench/bin/python)

# The folders below keras/src to test, such as ONLY=ops,layers/rnn; all of them take an hour or more.
test-keras: keras-source .venv-keras/.installed-tests ## Keras's own tests: KERAS_SOURCE=checkout [KERAS_PEER=Python with TensorFlow] [ONLY=folders]
	.venv-keras/bin/python tests/keras/own_tests.py --source '$(KERAS_SOURCE)' $(if $(KERAS_PEER),--peer $(KERAS_PEER)) --only '$(ONLY)' -n $(or $(N),1)

keras-source:
	@test -f '$(KERAS_SOURCE)/keras/src/version.py' || { \
	    echo 'The installed package has no tests. Name a checkout of keras-team/keras: make test-keras KERAS_SOURCE=path/to/keras' >&2; \
	    exit 1; }

clean: ## remove everything that make has made
	rm -rf .venv .venv-* build dist site page/node_modules .hypothesis .mypy_cache .pytest_cache .ruff_cache tour.png pictures bench/results/latest.* bench/results/keras
	find src tests bench examples -name __pycache__ -type d -prune -exec rm -rf {} +

page/node_modules/.installed: page/package-lock.json
	cd page && npm ci --silent --no-audit --no-fund
	@touch $@

# A stamp stands for one extra (or one peer) installed into one environment.

$(VENV)/.installed-%: pyproject.toml constraints.txt | $(VENV)/.made
	$(VENV)/bin/python $(PIP_INSTALL) --constraint constraints.txt --editable '.[$*]'
	@touch $@

.venv-docs/.installed-docs: pyproject.toml constraints.txt | .venv-docs/.made
	.venv-docs/bin/python $(PIP_INSTALL) --constraint constraints.txt --editable '.[docs]'
	@touch $@

# Without the packages of the tests: Keras imports what it finds of them.
.venv-bench-keras/.installed-keras: pyproject.toml constraints.txt | .venv-bench-keras/.made
	.venv-bench-keras/bin/python $(PIP_INSTALL) --constraint constraints.txt --editable '.[xla,keras]'
	@touch $@

# In one process with PyTorch, which comes first: the loops of both are measured in turns.
.venv-bench-hot/.installed-gradtape: pyproject.toml constraints.txt | .venv-bench-hot/.made
	.venv-bench-hot/bin/python $(PIP_INSTALL) --constraint constraints.txt --editable '.[xla,keras]'
	@touch $@

# torch goes in by itself, so that no other package has a say in which of its builds is chosen.
.venv-bench/.installed-torch .venv-bench-hot/.installed-torch .venv-keras/.installed-torch: %/.installed-torch: | %/.made
	$*/bin/python $(PIP_INSTALL) torch==2.13.0
	$*/bin/python $(PIP_INSTALL) numpy
	@touch $@

# The version that gradtape's extra names, whatever TensorFlow has brought.
.venv-bench/.installed-keras: | .venv-bench/.made
	.venv-bench/bin/python $(PIP_INSTALL) 'keras>=3.15,<3.16' numpy
	@touch $@

.venv-bench/.installed-%: | .venv-bench/.made
	.venv-bench/bin/python $(PIP_INSTALL) $* numpy
	@touch $@

# What Keras's tests import besides Keras. Without the converters to other formats (ONNX, OpenVINO, LiteRT), whose tests are skipped.
KERAS_TESTS_NEED := pytest pytest-xdist attrs absl-py dm-tree grain h5py matplotlib orbax-checkpoint packaging pandas requests scikit-learn tensorboard

.venv-keras/.installed-tests: pyproject.toml constraints.txt | .venv-keras/.installed-torch
	.venv-keras/bin/python $(PIP_INSTALL) --constraint constraints.txt --editable '.[xla,files,keras]' $(KERAS_TESTS_NEED)
	@touch $@

$(VENV)/.made .venv-bench/.made .venv-bench-hot/.made .venv-bench-keras/.made .venv-docs/.made .venv-keras/.made:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || { \
	    echo 'gradtape needs Python 3.11, 3.12 or 3.13, and $(PYTHON) is none. Name one: make PYTHON=python3.12' >&2; \
	    exit 1; }
	$(PYTHON) -m venv --clear $(@D)
	@touch $@
