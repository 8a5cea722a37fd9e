"""Names of conda packages: which wheel each is on the package index, and which have none.

Reviewed by hand against conda-forge, the channel `pytorch` and the package index. A name that is in neither table is
looked up on the index under the same name.
"""

from __future__ import annotations

import difflib

from packaging.utils import canonicalize_name

WHEELS = {
    "brotli-python": "brotli",
    "dask-core": "dask",
    "faiss": "faiss-cpu",
    "gym-all": "gym",
    "gymnasium-all": "gymnasium[all]",
    "gymnasium-atari": "gymnasium[atari]",
    "gymnasium-box2d": "gymnasium[box2d]",
    "gymnasium-classic-control": "gymnasium[classic-control]",
    "gymnasium-mujoco": "gymnasium[mujoco]",
    "gymnasium-other": "gymnasium[other]",
    "gymnasium-toy-text": "gymnasium[toy-text]",
    "keras-gpu": "keras",
    "matplotlib-base": "matplotlib",
    "mesalib-python": "pyopengl",
    "msgpack-python": "msgpack",
    "mujoco-python": "mujoco",
    "numpy-base": "numpy",
    "opencv": "opencv-python-headless",
    "ortools-python": "ortools",
    "pillow-simd": "pillow",
    "psycopg2": "psycopg2-binary",
    "py-lief": "lief",
    "py-opencv": "opencv-python-headless",
    "py-xgboost": "xgboost",
    "py-xgboost-cpu": "xgboost",
    "py-xgboost-gpu": "xgboost",
    "pyg": "torch-geometric",
    "pyqt": "pyqt5",
    "pytables": "tables",
    "python-blosc": "blosc",
    "python-chess": "chess",
    "python-duckdb": "duckdb",
    "python-fastjsonschema": "fastjsonschema",
    "python-flatbuffers": "flatbuffers",
    "python-graphviz": "graphviz",
    "python-igraph": "igraph",
    "python-kaleido": "kaleido",
    "python-lmdb": "lmdb",
    "python-tzdata": "tzdata",
    "python-xxhash": "xxhash",
    "python-zstd": "zstd",
    "pytorch": "torch",
    "pytorch-cluster": "torch-cluster",
    "pytorch-cpu": "torch",
    "pytorch-geometric": "torch-geometric",
    "pytorch-gpu": "torch",
    "pytorch-scatter": "torch-scatter",
    "pytorch-sparse": "torch-sparse",
    "pytorch-spline-conv": "torch-spline-conv",
    "ray-core": "ray",
    "ray-default": "ray[default]",
    "ray-rllib": "ray[rllib]",
    "ray-tune": "ray[tune]",
    "ruamel-yaml": "ruamel.yaml",
    "scikit-learn-base": "scikit-learn",
    "seaborn-base": "seaborn",
    "tensorflow-base": "tensorflow",
    "tensorflow-eigen": "tensorflow",
    "tensorflow-gpu": "tensorflow",
    "tensorflow-mkl": "tensorflow",
    "torchvision-cpu": "torchvision",
}
"""The wheel of each package that has another name there, by conda's name in normal form."""
OTHER_VERSIONS = frozenset({"opencv", "py-opencv"})
"""Packages whose wheels add a number to the version: 4.8.1 of conda is 4.8.1.78 on the index."""
CONDA_ONLY = frozenset({
    "alsa-lib", "anaconda", "aom", "at-spi2-core", "binutils", "blas", "blosc", "boost-cpp", "brotli-bin", "bzip2",
    "c-ares", "c-compiler", "ca-certificates", "cairo", "clang", "cmake", "compilers", "conda", "cpuonly", "cuda",
    "cudatoolkit", "cudatoolkit-dev", "cudnn", "cupti", "cxx-compiler", "dbus", "expat", "ffmpeg", "fftw",
    "fontconfig", "freeglut", "freetype", "fribidi", "gcc", "gdk-pixbuf", "gettext", "gflags", "giflib", "git",
    "glew", "glfw", "glib", "glog", "gmp", "gnutls", "graphite2", "graphviz", "gsl", "gstreamer", "gxx", "harfbuzz",
    "hdf5", "icu", "intel-openmp", "jpeg", "jupyter-core-base", "keyutils", "krb5", "lame", "lcms2",
    "ld-impl-linux-64", "lerc", "libabseil", "libass", "libblas", "libcblas", "libclang", "libcups", "libcurl",
    "libcxx", "libdeflate", "libdrm", "libedit", "libev", "libevent", "libexpat", "libffi", "libflac", "libgcc",
    "libgcc-ng", "libgcrypt", "libgfortran", "libgfortran-ng", "libgfortran4", "libgfortran5", "libglib", "libglu",
    "libgomp", "libhwloc", "libiconv", "libidn2", "libjpeg-turbo", "liblapack", "liblapacke", "libllvm11",
    "libllvm14", "libllvm15", "libmamba", "libnghttp2", "libnsl", "libogg", "libopenblas", "libopencv", "libopus",
    "libpng", "libpq", "libprotobuf", "libsndfile", "libsodium", "libssh2", "libstdcxx", "libstdcxx-ng", "libtasn1",
    "libtheora", "libtiff", "libunistring", "libuuid", "libuv", "libvorbis", "libvpx", "libwebp", "libwebp-base",
    "libxcb", "libxcrypt", "libxkbcommon", "libxml2", "libxslt", "libzlib", "llvm-openmp", "lz4-c", "magma",
    "magma-cuda117", "magma-cuda118", "make", "mamba", "menuinst", "mesalib", "metis", "mkl", "mkl-devel", "mkl-fft",
    "mkl-random", "mkl-service", "mpfr", "mysql-common", "mysql-libs", "nb-conda-kernels", "nccl", "ncurses",
    "nettle", "ninja-base", "nodejs", "nomkl", "nspr", "nss", "openblas", "openh264", "openjpeg", "openmpi",
    "openssl", "p11-kit", "pango", "pcre", "pcre2", "pixman", "pkg-config", "portaudio", "pthread-stubs",
    "pulseaudio", "python-abi", "pytorch-cuda", "pytorch-mutex", "qt", "qt-main", "qt-webengine", "readline", "rhash",
    "sdl2", "sleef", "snappy", "sqlite", "suitesparse", "svt-av1", "swig", "tbb", "tensorflow-estimator-base", "tk",
    "tzdata", "unixodbc", "wget", "x264", "x265", "xz", "yaml", "zeromq", "zlib", "zlib-ng", "zstd",
})  # fmt: skip
"""Programs and libraries of the system that conda brings and the package index does not have."""
CONDA_ONLY_BEGINNINGS = ("cuda-", "gcc-", "gxx-", "libcublas", "libcudnn", "libcufft", "libcurand", "libcusolver",
                         "libcusparse", "libnpp", "libnv", "r-", "sysroot-", "xorg-")  # fmt: skip
SIMILAR = 0.75
"""How alike two names must be for one to be suggested for the other, from 0 to 1."""
POPULAR = (
    "box2d", "dm-control", "gym", "gymnasium", "jax", "lightgbm", "matplotlib", "mujoco", "numba", "numpy",
    "onnxruntime", "open-spiel", "pandas", "pettingzoo", "pyyaml", "scikit-image", "scikit-learn", "scipy",
    "sb3-contrib", "stable-baselines3", "tianshou", "torchaudio", "torchrl", "transformers", "tqdm",
)  # fmt: skip
"""Wheels that submissions often require; names like them are probably meant for them."""
IMPORTS = {"cv2": "opencv-python-headless", "pil": "pillow", "sklearn": "scikit-learn", "skimage": "scikit-image",
           "yaml": "pyyaml", "sb3": "stable-baselines3", "pytorch": "torch", "box2d": "box2d"}  # fmt: skip
"""The wheel of a module, where people write the module's name."""


def is_conda_only(name: str) -> bool:
    """Return whether the package index has nothing for a package of conda."""
    plain = canonicalize_name(name)
    return name.startswith("_") or plain in CONDA_ONLY or plain.startswith(CONDA_ONLY_BEGINNINGS)


def likely_wheel(name: str) -> str | None:
    """Return the wheel that a name is probably meant for; None if no known name is like it."""
    plain = canonicalize_name(name)
    if plain in IMPORTS:
        return IMPORTS[plain]
    if plain in WHEELS:
        return WHEELS[plain]
    known = {**{wheel: wheel for wheel in (*POPULAR, *WHEELS.values())}, **WHEELS}
    found = difflib.get_close_matches(plain, sorted(known), n=1, cutoff=SIMILAR)
    return known[found[0]] if found and known[found[0]] != plain else None
