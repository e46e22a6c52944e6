/* The firmware as a program on Linux: it speaks on a pseudo terminal, whose path it prints.
 *
 *     firmware-host [RECORD [stepped]]
 *
 * RECORD: a file for one line "time [us] channel value [us of a pulse]" at each change of an
 * output. "stepped": no time passes but by lines "run TICKS BYTES" on its input: once BYTES have
 * come from the line, so many ticks pass, and it prints "run TIME BYTES", those that it sent.
 *
 * SIGUSR1 presses the emergency stop, SIGUSR2 releases it, SIGTERM and Ctrl-C end. */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "core.h"

static core device;
static int line;
static FILE *record;
static uint64_t start;
static bool stepped;
static uint64_t stepped_time;
static unsigned long come, gone; /* bytes from and to the line */
static int32_t outputs[BOARD_CHANNELS];
static volatile sig_atomic_t emergency, ended;

static uint64_t now(void)
{
    struct timespec t;
    if (stepped)
        return stepped_time;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

uint32_t board_time(void)
{
    return (uint32_t)(now() - start);
}

bool board_emergency(void)
{
    return emergency;
}

uint16_t board_input(uint8_t index)
{
    return (uint16_t)(1000u * (index + 1u));
}

void board_switch_on(uint8_t i, int32_t value)
{
    outputs[i] = value;
    if (record != NULL)
        fprintf(record, "%lu %u %ld\n", (unsigned long)board_time(), i, (long)value);
}

void board_move(uint8_t i, position value)
{
    int32_t whole = (int32_t)(value / POSITION_ONE);
    if (whole != outputs[i])
        board_switch_on(i, whole);
}

int32_t board_halt(uint8_t i)
{
    return outputs[i];
}

int32_t board_output(uint8_t i)
{
    return outputs[i];
}

void board_send(const uint8_t *bytes, uint8_t length)
{
    ssize_t written = write(line, bytes, length);
    if (written < 0 && errno != EAGAIN)
        ended = 1;
    if (written > 0)
        gone += (unsigned long)written;
}

static void on_signal(int number)
{
    if (number == SIGTERM || number == SIGINT)
        ended = 1;
    else
        emergency = number == SIGUSR1;
}

/* Open a pseudo terminal in raw mode, and its other end, so that hosts may come and go. */
static const char *open_line(void)
{
    line = posix_openpt(O_RDWR | O_NOCTTY);
    if (line < 0 || grantpt(line) < 0 || unlockpt(line) < 0)
        return NULL;
    const char *path = ptsname(line);
    int end = path == NULL ? -1 : open(path, O_RDWR | O_NOCTTY);
    struct termios mode;
    if (end < 0 || tcgetattr(end, &mode) < 0)
        return NULL;
    mode.c_iflag = mode.c_oflag = mode.c_lflag = 0;
    mode.c_cflag = CS8 | CREAD | CLOCAL;
    if (tcsetattr(end, TCSANOW, &mode) < 0 || fcntl(line, F_SETFL, O_NONBLOCK) < 0)
        return NULL;
    return path;
}

/* Take what comes within `timeout` [ms]. */
static void take_bytes(int timeout)
{
    struct pollfd waited = {.fd = line, .events = POLLIN};
    if (poll(&waited, 1, timeout) <= 0)
        return;
    uint8_t bytes[256];
    ssize_t length = read(line, bytes, sizeof bytes);
    for (ssize_t i = 0; i < length; i++, come++)
        core_receive(&device, bytes[i]);
}

static void run_in_real_time(void)
{
    uint64_t tick = now() + BOARD_TICK;
    while (!ended) {
        uint64_t time = now();
        take_bytes(time < tick ? (int)((tick - time + 999u) / 1000u) : 0);
        for (; now() >= tick; tick += BOARD_TICK)
            core_tick(&device);
    }
}

static void run_stepped(void)
{
    unsigned long ticks, bytes;
    while (!ended && scanf(" run %lu %lu", &ticks, &bytes) == 2) {
        while (!ended && come < bytes)
            take_bytes(100);
        for (; ticks > 0; ticks--) {
            take_bytes(0);
            stepped_time += BOARD_TICK;
            core_tick(&device);
        }
        printf("run %lu %lu\n", (unsigned long)stepped_time, gone);
        fflush(stdout);
    }
}

int main(int count, char **arguments)
{
    if (count > 1 && (record = fopen(arguments[1], "w")) == NULL) {
        fprintf(stderr, "%s: cannot be written: %s\n", arguments[1], strerror(errno));
        return 2;
    }
    if (record != NULL)
        setvbuf(record, NULL, _IOLBF, BUFSIZ); /* for who watches */
    stepped = count > 2 && strcmp(arguments[2], "stepped") == 0;
    start = now();
    const char *path = open_line();
    if (path == NULL) {
        fprintf(stderr, "no pseudo terminal: %s\n", strerror(errno));
        return 1;
    }
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    printf("%s\n", path);
    fflush(stdout);

    core_begin(&device, false);
    if (stepped)
        run_stepped();
    else
        run_in_real_time();
    if (record != NULL)
        fclose(record);
    return 0;
}
