"""Takes from a Python on Linux what Python on Windows does not have. Put this folder on PYTHONPATH.

It stands in for a machine that is not at hand. Held against CPython's documentation ("Availability: Unix"): modules,
functions, flags and signals that are missing (os.WNOHANG stays, for subprocess); `select` that takes sockets only;
locks of msvcrt; folders that cannot be opened; open files that can be neither renamed nor removed; renames that replace
nothing; modes of files that say nothing; symbolic links that need a privilege; children without SYSTEMROOT that do not
start, or that open windows; no `pass_fds`; signals that all end a process, and jobs that hold all that it starts.
Children get the simulation, too, also those that Python starts isolated (-I, -S).

Not simulated: paths and their separators (os.name stays "posix", because pathlib needs it), names that Windows cannot
hold, real consoles, files held by other processes, virus scanners. Only a real machine shows these.
"""

import builtins
import contextlib
import errno
import functools
import importlib.abc
import io
import itertools
import os
import sys
import time
import types

HERE = os.path.dirname(os.path.abspath(__file__))
MODULES = "fcntl resource pwd grp termios tty pty syslog readline curses _curses spwd crypt nis ossaudiodev".split()
OF_OS = """
    fork forkpty setsid getsid killpg getpgid setpgid getpgrp setpgrp getuid geteuid getgid getegid getgroups setuid
    seteuid setgid setegid setreuid setregid setresuid setresgid getresuid getresgid initgroups setgroups nice
    sched_getaffinity sched_setaffinity sched_yield sched_setscheduler sched_getscheduler sched_getparam sched_setparam
    sched_get_priority_max sched_get_priority_min sched_rr_get_interval waitid wait wait3 wait4 mkfifo mknod chown
    lchown fchown fchmod lchmod chroot fdatasync getpriority setpriority openpty pread pwrite preadv pwritev readv
    writev posix_fadvise posix_fallocate posix_spawn posix_spawnp sendfile sync statvfs fstatvfs sysconf confstr
    pathconf fpathconf uname ctermid lockf pipe2 memfd_create pidfd_open eventfd eventfd_read eventfd_write getxattr
    setxattr listxattr removexattr copy_file_range splice register_at_fork setns unshare login_tty tcgetpgrp tcsetpgrp
    ttyname major minor makedev getloadavg O_NOFOLLOW O_DIRECTORY O_CLOEXEC O_PATH O_NONBLOCK O_SYNC O_DSYNC O_NOCTTY
    O_NOATIME O_TMPFILE O_ACCMODE O_NDELAY O_LARGEFILE O_ASYNC O_DIRECT O_RSYNC WUNTRACED WCONTINUED WEXITED
    WSTOPPED WNOWAIT WTERMSIG WSTOPSIG WCOREDUMP WIFEXITED WIFSIGNALED WIFSTOPPED WEXITSTATUS P_PID P_ALL P_PGID
    PRIO_PROCESS PRIO_PGRP PRIO_USER RTLD_NOW RTLD_LAZY RTLD_GLOBAL CLD_EXITED CLD_STOPPED CLD_KILLED
""".split()
OF_SIGNAL = """
    SIGKILL SIGALRM SIGHUP SIGSTOP SIGCONT SIGTSTP SIGCHLD SIGPIPE SIGQUIT SIGUSR1 SIGUSR2 SIGXCPU SIGXFSZ SIGWINCH
    SIGIO SIGTTIN SIGTTOU SIGURG SIGVTALRM SIGPROF SIGPWR SIGSYS SIGTRAP SIGBUS SIGCLD SIGPOLL SIGSTKFLT SIGRTMIN
    SIGRTMAX setitimer getitimer ITIMER_REAL ITIMER_VIRTUAL ITIMER_PROF ItimerError alarm pause pthread_sigmask
    pthread_kill sigwait sigwaitinfo sigtimedwait sigpending siginterrupt SIG_BLOCK SIG_SETMASK SIG_UNBLOCK Sigmasks
    pidfd_send_signal
""".split()
OF_SOCKET = """
    AF_UNIX SO_PEERCRED SCM_RIGHTS SCM_CREDENTIALS CMSG_SPACE CMSG_LEN send_fds recv_fds AF_NETLINK AF_PACKET
    SO_REUSEPORT MSG_DONTWAIT MSG_NOSIGNAL
""".split()
OF_SELECT = "poll epoll kqueue devpoll POLLIN POLLOUT POLLHUP POLLERR POLLNVAL POLLPRI EPOLLIN PIPE_BUF".split()
JOBS = "LIKE_WINDOWS_JOBS"
"""The variable with the numbers of a process and of those above it, by which its jobs are found."""
LK_UNLCK, LK_LOCK, LK_NBLCK, LK_RLCK, LK_NBRLCK = range(5)
SHARING_VIOLATION, NOT_A_SOCKET, INVALID, NO_PRIVILEGE = 32, 10038, 10022, 1314
NO_MODES = 0o666


def simulate() -> None:
    # What the standard library itself needs of POSIX is imported first, so that it keeps its own references.
    import asyncio.unix_events  # noqa: F401
    import concurrent.futures.process  # noqa: F401
    import ctypes.util
    import fcntl
    import gettext  # noqa: F401
    import http.client  # noqa: F401
    import logging  # noqa: F401
    import multiprocessing.connection
    import multiprocessing.heap
    import multiprocessing.managers
    import multiprocessing.pool
    import multiprocessing.popen_fork
    import multiprocessing.popen_spawn_posix
    import multiprocessing.queues
    import multiprocessing.reduction
    import multiprocessing.resource_tracker
    import multiprocessing.shared_memory
    import multiprocessing.synchronize  # noqa: F401
    import pathlib  # noqa: F401
    import pdb  # noqa: F401, T100
    import platform
    import pydoc  # noqa: F401
    import random  # noqa: F401
    import select
    import selectors
    import shutil
    import signal
    import socket
    import subprocess
    import sysconfig  # noqa: F401
    import tarfile  # noqa: F401
    import tempfile
    import urllib.request  # noqa: F401
    import uuid
    import webbrowser  # noqa: F401
    import zipfile  # noqa: F401

    def forget(names, *modules):
        for name in names:
            for module in modules:
                if hasattr(module, name):
                    delattr(module, name)

    flock = fcntl.flock
    own = types.SimpleNamespace(
        open=os.open, kill=os.kill, stat=os.stat, fstat=os.fstat, listdir=os.listdir, readlink=os.readlink,
        realpath=os.path.realpath, select=select.select, chmod=os.chmod, mkdir=os.mkdir,
    )  # fmt: skip
    exclusive, at_once, unlocked = fcntl.LOCK_EX, fcntl.LOCK_NB, fcntl.LOCK_UN
    for name in MODULES:
        sys.modules.pop(name, None)

    class Missing(importlib.abc.MetaPathFinder):
        def find_spec(self, name, path=None, target=None):
            if name in MODULES:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    sys.meta_path.insert(0, Missing())
    forget(OF_OS, os, sys.modules["posix"])
    forget(OF_SIGNAL, signal)
    forget(OF_SOCKET, socket)
    forget(OF_SELECT, select)
    forget(("PollSelector", "EpollSelector", "DevpollSelector"), selectors)
    forget(("tzset",), __import__("time"))
    selectors.DefaultSelector = selectors.SelectSelector
    sys.platform = "win32"
    platform.system = lambda: "Windows"
    os.supports_dir_fd.clear()
    os.supports_fd.discard(own.chmod)
    signal.CTRL_C_EVENT, signal.CTRL_BREAK_EVENT = 0, 1
    signal.SIGBREAK = signal.SIGTERM  # Linux gives 21 to another signal; a handler for it must be taken
    os.environ.setdefault("USERNAME", "Jürgen Müller")
    os.environ.setdefault("SYSTEMROOT", "C:\\Windows")

    # --- msvcrt: a lock of bytes of a file, without waiting; LK_LOCK tries ten times, once a second.
    msvcrt = types.ModuleType("msvcrt")
    vars(msvcrt).update(
        LK_UNLCK=LK_UNLCK, LK_LOCK=LK_LOCK, LK_NBLCK=LK_NBLCK, LK_RLCK=LK_RLCK, LK_NBRLCK=LK_NBRLCK,
        getwch=lambda: sys.stdin.read(1), putwch=lambda letter: sys.stderr.write(letter),
    )  # fmt: skip

    def locking(descriptor, mode, count):
        if mode == LK_UNLCK:
            return flock(descriptor, unlocked)
        try:
            return flock(descriptor, exclusive | at_once)
        except BlockingIOError:
            code = errno.EACCES if mode in {LK_NBLCK, LK_NBRLCK} else errno.EDEADLK
            raise OSError(code, os.strerror(code)) from None

    msvcrt.locking = locking
    sys.modules["msvcrt"] = msvcrt

    # --- Files: no folder is opened, modes say only whether a file is read-only, what is open stays where it is.
    for flag in ("O_BINARY", "O_NOINHERIT", "O_TEXT", "O_SEQUENTIAL", "O_RANDOM", "O_TEMPORARY", "O_SHORT_LIVED"):
        setattr(os, flag, 0)
    os.umask(0)

    def opened(path, flags, mode=0o777, *, dir_fd=None):
        if dir_fd is not None:
            raise NotImplementedError("dir_fd unavailable on this platform")
        if os.path.isdir(path):
            raise PermissionError(errno.EACCES, "Permission denied", os.fspath(path))
        return own.open(path, flags, NO_MODES)

    def chmod(path, mode, **options):
        if not os.path.isdir(path):
            own.chmod(path, NO_MODES if mode & 0o200 else 0o444)

    def mkdir(path, mode=0o777, **options):
        own.mkdir(path, 0o777)

    def check_closed(path):
        real = own.realpath(path)
        for name in own.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                held = own.readlink(f"/proc/self/fd/{name}")
                if held == real or held.startswith(real + "/"):
                    sentence = "The process cannot access the file because it is being used by another process"
                    error = PermissionError(errno.EACCES, sentence, os.fspath(path))
                    error.winerror = SHARING_VIOLATION
                    raise error from None

    def closed_first(function, *, replaces=True, target=False):
        @functools.wraps(function)
        def call(path, *more, **options):
            if isinstance(path, int):
                return function(path, *more, **options)
            if target and os.path.lexists(more[0]) and not os.path.samefile(path, more[0]):
                if not replaces:
                    raise FileExistsError(errno.EEXIST, "File exists", os.fspath(path), None, os.fspath(more[0]))
                held(more[0])
            held(path)
            return function(path, *more, **options)

        return call

    def held(path):
        try:
            check_closed(path)
        except PermissionError as error:
            if getattr(error, "winerror", 0) == SHARING_VIOLATION:
                raise

    def no_symlink(source, target, *more, **options):
        error = OSError(errno.EINVAL, "A required privilege is not held by the client", os.fspath(source))
        error.winerror = NO_PRIVILEGE
        raise error

    os.open, os.chmod, os.mkdir, os.symlink = opened, chmod, mkdir, no_symlink
    os.rename = closed_first(os.rename, replaces=False, target=True)
    os.replace = closed_first(os.replace, target=True)
    os.remove = closed_first(os.remove)
    os.unlink = closed_first(os.unlink)
    os.rmdir = closed_first(os.rmdir)
    tempfile._O_TMPFILE_WORKS = False
    tempfile.TemporaryFile = tempfile.NamedTemporaryFile
    shutil._USE_CP_SENDFILE = shutil._use_fd_functions = False
    shutil._copyxattr = lambda *_, **__: None
    own_open = builtins.open

    def text_open(file, *more, **options):
        if isinstance(file, str | os.PathLike) and os.fspath(file).startswith(("/proc", "/sys/", "/dev/")):
            if os.fspath(file) != os.devnull:
                raise FileNotFoundError(errno.ENOENT, "No such file or directory", os.fspath(file))
        return own_open(file, *more, **options)

    builtins.open = io.open = text_open

    # --- Sockets: select takes sockets only, and not none; a pair is one of the loopback.
    def only_sockets(read, write, failed, seconds=None):
        wanted = [*read, *write, *failed]
        if not wanted:
            raise OSError(INVALID, "An invalid argument was supplied")
        for one in wanted:
            number = one if isinstance(one, int) else one.fileno()
            if own.fstat(number).st_mode & 0o170000 != 0o140000:
                raise OSError(NOT_A_SOCKET, "An operation was attempted on something that is not a socket")
        return own.select(read, write, failed, seconds)

    def pair(family=None, type=socket.SOCK_STREAM, proto=0):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            one = socket.create_connection(listener.getsockname())
            return one, listener.accept()[0]

    select.select, socket.socketpair = only_sockets, pair

    # --- Processes: TerminateProcess for every signal; children need SYSTEMROOT and get the simulation.
    def kill(pid, number):
        own.kill(pid, 9)

    os.kill = kill
    popen, started = subprocess.Popen, subprocess.Popen.__init__

    def end(self):
        if self.poll() is None:
            own.kill(self.pid, 9)

    popen.kill = popen.terminate = end

    # --- Jobs: what a process of a job starts belongs to it, whether that process still runs or not.
    above = os.environ.get(JOBS, "")

    def started_ones():
        for name in filter(str.isdigit, own.listdir("/proc")):
            with contextlib.suppress(OSError), own_open(f"/proc/{name}/environ", errors="replace") as file:
                for variable in file.read().split("\0"):
                    if variable.startswith(JOBS + "="):
                        yield int(name), variable.partition("=")[2].split(",")

    def assigned(job, process):
        # A process that has just begun has no environment yet.
        for _ in range(500):
            if numbers := dict(started_ones()).get(process.value):
                jobs[job.value] = numbers[-1]
                return 1
            time.sleep(0.01)
        return 0

    def terminated(job, status):
        for pid, numbers in started_ones():
            if jobs.get(job.value) in numbers:
                own.kill(pid, 9)
        return 1

    jobs, handles = {}, itertools.count(1)
    kernel = types.SimpleNamespace(
        CreateJobObjectW=lambda security, name: next(handles), OpenProcess=lambda rights, inherits, pid: pid,
        AssignProcessToJobObject=assigned, TerminateJobObject=terminated, CloseHandle=lambda handle: 1,
    )  # fmt: skip
    ctypes.WinDLL = {"kernel32": kernel}.get
    subprocess.CREATE_NEW_PROCESS_GROUP, subprocess.CREATE_NO_WINDOW = 0x200, 0x08000000
    sys.path.append(os.path.dirname(HERE))
    from simulated_children import with_simulation

    def start(self, command, *more, **options):
        for name in ("preexec_fn", "pass_fds"):
            if options.get(name):
                raise ValueError(f"{name} not supported on Windows.")
        if (
            not options.pop("creationflags", 0) & subprocess.CREATE_NO_WINDOW
            and options.get("stdout") == subprocess.PIPE
        ):
            raise OSError(f"A child for which a notebook opens a window: {command}")
        options.pop("start_new_session", None)
        if options.get("env") is not None and "SYSTEMROOT" not in options["env"]:
            raise OSError(f"A child without SYSTEMROOT: {command}")
        command, options["env"] = with_simulation(command, options.get("env"), HERE)
        options["env"][JOBS] = f"{above},{uuid.uuid4().hex}"
        started(self, command, *more, **options)

    popen.__init__ = start


simulate()
