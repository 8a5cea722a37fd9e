"""Takes from a Python on Linux what Python on macOS does not have. Put this folder on PYTHONPATH.

It stands in for a machine that is not at hand. Held against CPython's documentation ("not macOS") and public reports:
no /proc, /sys and /dev/shm; no sched_setaffinity, prctl, unshare, epoll; no waitid before Python 3.13; limits on memory
that are refused with EINVAL (python/cpython#78783), which is a ValueError in Python; paths of Unix sockets below 104
bytes and no abstract ones; a folder for temporary files of 49 characters; no `unshare`, `setpriv` and `docker` among
the programs. MACSIM_DOCKER=1 leaves docker there. Children get the simulation, too, also isolated ones (-I, -S).

Not simulated: Objective-C and fork, Finder, Rosetta, code signing, case-insensitive names, Docker Desktop.
"""

import builtins
import errno
import functools
import io
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
OF_OS = """
    sched_getaffinity sched_setaffinity sched_setscheduler sched_getscheduler sched_getparam sched_setparam
    sched_rr_get_interval pidfd_open memfd_create eventfd eventfd_read eventfd_write splice setns unshare posix_fadvise
    posix_fallocate copy_file_range fdatasync pipe2 getresuid getresgid setresuid setresgid listxattr getxattr setxattr
    removexattr O_TMPFILE O_PATH O_NOATIME O_DIRECT O_LARGEFILE
""".split()
OF_OS_BEFORE_3_13 = """
    waitid P_PID P_ALL P_PGID P_PIDFD WEXITED WSTOPPED WNOWAIT CLD_EXITED CLD_STOPPED CLD_KILLED CLD_DUMPED CLD_TRAPPED
    CLD_CONTINUED
""".split()
OF_SIGNAL = """
    sigwaitinfo sigtimedwait pidfd_send_signal SIGCLD SIGPOLL SIGPWR SIGSTKFLT SIGRTMIN SIGRTMAX
""".split()
OF_SOCKET = """
    SO_PEERCRED SCM_CREDENTIALS MSG_NOSIGNAL SO_BINDTODEVICE AF_NETLINK AF_PACKET SOCK_CLOEXEC SOCK_NONBLOCK
""".split()
OF_RESOURCE = "RLIMIT_MSGQUEUE RLIMIT_NICE RLIMIT_RTPRIO RLIMIT_RTTIME RLIMIT_SIGPENDING prlimit".split()
OF_LIBC = ("prctl", "unshare", "setns", "memfd_create", "clone")
PROGRAMS = ("unshare", "setpriv", "ionice", "taskset")
GONE = ("/proc", "/sys/", "/dev/shm")
MOST_PATH = 104
TEMPORARY = "/tmp/folders/zz/" + 32 * "m" + "/T"  # /var/folders/zz/<32 letters>/T is as long


def simulate() -> None:
    # What the standard library itself needs is imported first, so that it keeps its own references.
    import ctypes
    import ctypes.util
    import multiprocessing.connection
    import multiprocessing.managers
    import multiprocessing.popen_fork
    import multiprocessing.popen_spawn_posix
    import multiprocessing.reduction
    import multiprocessing.shared_memory
    import multiprocessing.synchronize  # noqa: F401
    import platform
    import resource
    import select
    import selectors
    import shutil
    import signal
    import socket
    import subprocess
    import tempfile
    import urllib.request  # noqa: F401
    import uuid  # noqa: F401
    import webbrowser  # noqa: F401

    def forget(names, *modules):
        for name in names:
            for module in modules:
                if hasattr(module, name):
                    delattr(module, name)

    forget(OF_OS, os, sys.modules["posix"])
    if sys.version_info < (3, 13):
        forget(OF_OS_BEFORE_3_13, os, sys.modules["posix"])
    forget(OF_SIGNAL, signal)
    forget(OF_SOCKET, socket)
    forget(OF_RESOURCE, resource)
    forget(("epoll", "EPOLLIN"), select)
    forget(("EpollSelector",), selectors)
    selectors.DefaultSelector = selectors.PollSelector
    sys.platform = "darwin"
    platform.system = lambda: "Darwin"
    tempfile._O_TMPFILE_WORKS = False
    shutil._copyxattr = lambda *_, **__: None
    shutil._USE_CP_SENDFILE = False
    if "TMPDIR" not in os.environ:
        os.makedirs(TEMPORARY, exist_ok=True)
        os.environ["TMPDIR"] = TEMPORARY

    # --- Sockets with short paths only.
    class Socket(socket.socket):
        def bind(self, address):
            check_path(self, address)
            return super().bind(address)

        def connect(self, address):
            check_path(self, address)
            return super().connect(address)

    def check_path(self, address):
        if self.family == socket.AF_UNIX:
            path = os.fsencode(address)
            if path.startswith(b"\0"):
                raise FileNotFoundError(errno.ENOENT, "No such file or directory")
            if len(path) >= MOST_PATH:
                raise OSError("AF_UNIX path too long")

    socket.socket = socket.SocketType = Socket

    # --- Limits and calls of the kernel.
    class Library(ctypes.CDLL):
        def __getattr__(self, name):
            if self._name is None and name in OF_LIBC:
                raise AttributeError(f"dlsym(RTLD_DEFAULT, {name}): symbol not found")
            return super().__getattr__(name)

    ctypes.CDLL = Library
    set_limit = resource.setrlimit

    def setrlimit(kind, limits):
        if kind in {resource.RLIMIT_AS, resource.RLIMIT_DATA} and limits[0] != resource.RLIM_INFINITY:
            raise ValueError("current limit exceeds maximum limit")
        return set_limit(kind, limits)

    resource.setrlimit = setrlimit

    # --- Files of the kernel.
    def without_kernel(function):
        @functools.wraps(function)
        def call(path=".", *more, **options):
            if isinstance(path, str | bytes | os.PathLike) and os.fsdecode(os.fspath(path)).startswith(GONE):
                raise FileNotFoundError(errno.ENOENT, "No such file or directory", os.fsdecode(os.fspath(path)))
            return function(path, *more, **options)

        return call

    builtins.open = io.open = without_kernel(builtins.open)
    for name in ("open", "listdir", "readlink", "stat", "scandir"):
        setattr(os, name, without_kernel(getattr(os, name)))

    access = os.access
    os.access = lambda path, *more, **options: not str(path).startswith(GONE) and access(path, *more, **options)

    # --- Programs and children.
    which = shutil.which
    absent = PROGRAMS if os.environ.get("MACSIM_DOCKER") else (*PROGRAMS, "docker")
    shutil.which = lambda name, *more, **options: None if name in absent else which(name, *more, **options)
    started = subprocess.Popen.__init__
    sys.path.append(os.path.dirname(HERE))
    from simulated_children import with_simulation

    def start(self, command, *more, **options):
        command, options["env"] = with_simulation(command, options.get("env"), HERE)
        started(self, command, *more, **options)

    subprocess.Popen.__init__ = start


simulate()
