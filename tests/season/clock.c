/* Shows a process a clock that is as many seconds ahead as the eight bytes of the file FAULTS_CLOCK say: by all calls
   that Python and its libraries ask for the time, and where a time to wait until is given to the kernel. What measures
   spans (CLOCK_MONOTONIC) stays, as on a machine whose clock is wrong. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *ahead;
static int (*wait_for_semaphore)(sem_t *, const struct timespec *);

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("FAULTS_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *found = file >= 0 ? mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
    if (found == MAP_FAILED) abort();
    ahead = found;
    close(file);
    wait_for_semaphore = dlsym(RTLD_NEXT, "sem_timedwait");
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && ahead && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += *ahead;
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &exact)) return -1;
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now) {
    struct timespec exact;
    if (clock_gettime(CLOCK_REALTIME, &exact)) return -1;
    if (now) *now = exact.tv_sec;
    return exact.tv_sec;
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until) {
    struct timespec right = *until;
    right.tv_sec -= *ahead;
    return wait_for_semaphore(semaphore, &right);
}
