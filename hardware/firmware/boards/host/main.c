/* The firmware as a program on Linux: it speaks on a pseudo terminal, whose path it prints.
 *
 *     firmware-host [RECORD [SLOWDOWN]]
 *
 * RECORD: a file for one line "time [us] channel value [us of a pulse]" at each change of an
 * output. SLOWDOWN: seconds that a second of the device takes, a whole number.
 *
 * SIGUSR1 presses the emergency stop, SIGUSR2 releases it, SIGTERM ends. */
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
static uint64_t slowdown = 1;
static int32_t outputs[BOARD_CHANNELS];
static volatile sig_atomic_t emergency, ended;

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return ((uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u) / slowdown;
}

uint32_t board_time(void)
{
    static uint64_t start;
    if (start == 0)
        start = now();
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
    if (write(line, bytes, length) < 0 && errno != EAGAIN)
        ended = 1;
}

static void on_signal(int number)
{
    if (number == SIGTERM)
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

int main(int count, char **arguments)
{
    if (count > 1 && (record = fopen(arguments[1], "w")) == NULL) {
        fprintf(stderr, "%s: cannot be written: %s\n", arguments[1], strerror(errno));
        return 2;
    }
    if (count > 2 && atoi(arguments[2]) > 0)
        slowdown = (uint64_t)atoi(arguments[2]);
    const char *path = open_line();
    if (path == NULL) {
        fprintf(stderr, "no pseudo terminal: %s\n", strerror(errno));
        return 1;
    }
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    printf("%s\n", path);
    fflush(stdout);

    core_begin(&device, false);
    uint64_t tick = now() + BOARD_TICK;
    while (!ended) {
        uint64_t time = now();
        struct pollfd waited = {.fd = line, .events = POLLIN};
        if (poll(&waited, 1, time < tick ? (int)(((tick - time) * slowdown + 999u) / 1000u) : 0) > 0) {
            uint8_t bytes[256];
            ssize_t length = read(line, bytes, sizeof bytes);
            for (ssize_t i = 0; i < length; i++)
                core_receive(&device, bytes[i]);
        }
        for (; now() >= tick; tick += BOARD_TICK)
            core_tick(&device);
    }
    if (record != NULL)
        fclose(record);
    return 0;
}
