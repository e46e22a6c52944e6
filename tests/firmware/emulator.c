/* Runs firmware for the ATmega328P in simavr, with its UART on a pseudo terminal. emulator.py
 * starts it; the two speak in lines on the standard streams.
 *
 *     emulator FIRMWARE.elf RECORD realtime|stepped [wire]
 *
 * "realtime": paced by the clock of this machine. "stepped": time passes by commands "run" alone,
 * so that a busy machine changes nothing.
 *
 * RECORD gets 8 bytes an event: cycle << 16 | kind << 8 | value. Kinds: 0 a pin changed (number on
 * the Arduino << 1 | level), 1 a reset, 2 the emulator lagged and its clock was set back (value:
 * lag [10 ms]); with "wire" also 3 a byte to the firmware, 4 a byte from it.
 *
 * Commands, each answered by a line that begins with its name:
 *     emergency 0|1   release or press the stop (pressed: the wire is open)
 *     analogue N MV   voltage of an input [mV]
 *     reset           power-cycle
 *     hang            the main loop hangs; interrupts go on
 *     run N BYTES     stepped: once BYTES have come from the host since the line was plugged in,
 *                     run for N half milliseconds; "run CYCLE BYTES": those sent to the host
 *     pause, resume   in real time: the whole processor stands still
 *     unplug, plug    the pseudo terminal is closed, and a new one opened: "plug PATH"
 *     flush           RECORD is complete up to now: "flush CYCLE"
 *     statistics      "statistics CYCLE LAGS OVERRUNS CPU_SECONDS": overruns of a real UART
 * The end of the input ends it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <simavr/avr_adc.h>
#include <simavr/avr_extint.h>
#include <simavr/avr_ioport.h>
#include <simavr/avr_uart.h>
#include <simavr/sim_avr.h>
#include <simavr/sim_elf.h>

#define FREQUENCY 16000000u
#define QUANTUM 8000u             /* cycles between two looks at the world: 0.5 ms */
#define LAG_MAX 50000000          /* then the machine is too busy: the clock is set back [ns] */
#define READ_MAX 640u             /* cycles until a byte must be read: two more arrive meanwhile */
#define RECEIVER 18               /* its interrupt */
#define BAUD B500000

enum kind { PIN, RESET, LAG, TO_FIRMWARE, FROM_FIRMWARE };

static avr_t *avr;
static avr_uart_t *uart;
static FILE *record;
static bool with_wire;
static int line = -1, line_end = -1;
static uint8_t to_firmware[65536], from_firmware[4096];
static uint16_t to_in, to_out;
static size_t from_length;
static int64_t base; /* CLOCK_MONOTONIC at cycle 0 [ns] */
static bool stepped, running;
static avr_cycle_count_t run_until;
static unsigned long come, gone, awaited; /* bytes from and to the host */
static unsigned lags, overruns;
static bool levels[20], pressed, paused, to_hang, to_reset;
static uint32_t hung_at;
static uint8_t hung_code[2];
static void (*reset_of_core)(avr_t *);

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void note(enum kind kind, unsigned value)
{
    uint64_t event = avr->cycle << 16 | (uint64_t)kind << 8 | (value & 0xFFu);
    fwrite(&event, sizeof event, 1, record);
}

/* The line ------------------------------------------------------------------------------------ */

static void plug(const char *command)
{
    line = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (line < 0 || grantpt(line) < 0 || unlockpt(line) < 0) {
        perror("pseudo terminal");
        exit(1);
    }
    line_end = open(ptsname(line), O_RDWR | O_NOCTTY); /* so that hosts may come and go */
    struct termios mode;
    tcgetattr(line_end, &mode);
    cfmakeraw(&mode);
    cfsetspeed(&mode, BAUD);
    tcsetattr(line_end, TCSANOW, &mode);
    come = gone = 0;
    printf("%s %s\n", command, ptsname(line));
}

static void unplug(void)
{
    close(line_end);
    close(line);
    line = line_end = -1;
}

/* Bytes of a host that set another baud rate arrive as others. */
static bool garbled(void)
{
    struct termios mode;
    return tcgetattr(line_end, &mode) == 0 && cfgetospeed(&mode) != BAUD;
}

static avr_cycle_count_t feed(avr_t *a, avr_cycle_count_t when, void *unused)
{
    (void)a, (void)unused;
    if (to_in == to_out)
        return 0;
    uint8_t byte = to_firmware[to_out++];
    if (with_wire)
        note(TO_FIRMWARE, byte);
    avr_raise_irq(avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_INPUT), byte);
    return when + uart->cycles_per_byte;
}

/* simavr's receiver holds 64 bytes; a real one two, and one that arrives. */
static void on_receiver(struct avr_irq_t *irq, uint32_t value, void *running)
{
    static avr_cycle_count_t raised;
    (void)irq;
    if (!value)
        return;
    if (running == NULL)
        raised = avr->cycle;
    else if (avr->cycle - raised > READ_MAX)
        overruns++;
}

static void take_bytes(void)
{
    uint8_t bytes[4096];
    ssize_t length = line < 0 ? 0 : read(line, bytes, sizeof bytes);
    if (length <= 0)
        return;
    come += (unsigned long)length;
    bool noise = garbled();
    for (ssize_t i = 0; i < length; i++)
        to_firmware[to_in++] = noise ? (uint8_t)(bytes[i] << 2 | 0x83) : bytes[i];
    if (avr_cycle_timer_status(avr, feed, NULL) == 0)
        avr_cycle_timer_register(avr, 1, feed, NULL);
}

static void on_output(struct avr_irq_t *irq, uint32_t value, void *unused)
{
    (void)irq, (void)unused;
    if (with_wire)
        note(FROM_FIRMWARE, value);
    if (from_length < sizeof from_firmware)
        from_firmware[from_length++] = (uint8_t)value;
}

static void give_bytes(void)
{
    bool noise = from_length > 0 && line >= 0 && garbled();
    for (size_t i = 0; noise && i < from_length; i++)
        from_firmware[i] = (uint8_t)(from_firmware[i] << 2 | 0x83);
    ssize_t written = from_length > 0 && line >= 0 ? write(line, from_firmware, from_length) : 0;
    if (written < 0 && errno != EAGAIN)
        perror("pseudo terminal");
    if (written > 0)
        gone += (unsigned long)written;
    from_length = 0; /* what nobody reads is lost, as on a wire */
}

/* Pins ---------------------------------------------------------------------------------------- */

static void on_pin(struct avr_irq_t *irq, uint32_t value, void *number)
{
    (void)irq;
    uintptr_t pin = (uintptr_t)number;
    bool level = value & 1u;
    if (levels[pin] != level)
        note(PIN, (unsigned)pin << 1 | level);
    levels[pin] = level;
}

static void watch_pins(void)
{
    for (uintptr_t pin = 4; pin < 14; pin++) {
        char port = pin < 8 ? 'D' : 'B';
        int bit = (int)(pin < 8 ? pin : pin - 8);
        avr_irq_t *irq = avr_io_getirq(avr, (uint32_t)AVR_IOCTL_IOPORT_GETIRQ(port), bit);
        avr_irq_register_notify(irq, on_pin, (void *)pin);
    }
}

/* The stop's switch is closed to ground; pressed, the pull-up of the pin alone counts. */
static void set_emergency(void)
{
    avr_ioport_external_t pull = {.name = 'D', .mask = pressed ? 0 : 4, .value = 0};
    avr_ioctl(avr, AVR_IOCTL_IOPORT_SET_EXTERNAL('D'), &pull);
    avr_irq_t *irq = avr_io_getirq(avr, AVR_IOCTL_IOPORT_GETIRQ('D'), 2);
    avr_raise_irq(irq, !pressed);
    avr_raise_irq(irq, pressed);
}

/* Time ---------------------------------------------------------------------------------------- */

static void take_command(char *text)
{
    unsigned long number = 0, value = 0;
    char name[32] = "";
    sscanf(text, "%31s %lu %lu", name, &number, &value);
    if (strcmp(name, "emergency") == 0) {
        pressed = number != 0;
        set_emergency();
    } else if (strcmp(name, "analogue") == 0) {
        avr_raise_irq(avr_io_getirq(avr, AVR_IOCTL_ADC_GETIRQ, (int)number), (uint32_t)value);
    } else if (strcmp(name, "reset") == 0) {
        to_reset = true;
        return; /* answered when it is done */
    } else if (strcmp(name, "run") == 0) {
        run_until = avr->cycle + number * QUANTUM;
        awaited = value;
        running = true;
        return; /* answered when it is done */
    } else if (strcmp(name, "hang") == 0) {
        to_hang = true;
    } else if (strcmp(name, "pause") == 0) {
        paused = true;
    } else if (strcmp(name, "resume") == 0) {
        paused = false;
    } else if (strcmp(name, "unplug") == 0) {
        unplug();
    } else if (strcmp(name, "plug") == 0) {
        plug("plug");
        return;
    } else if (strcmp(name, "flush") == 0) {
        fflush(record);
        printf("flush %llu\n", (unsigned long long)avr->cycle);
        return;
    } else if (strcmp(name, "statistics") == 0) {
        struct rusage use;
        getrusage(RUSAGE_SELF, &use);
        double seconds = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                         1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
        printf("statistics %llu %u %u %.3f\n", (unsigned long long)avr->cycle, lags, overruns,
               seconds);
        return;
    }
    printf("%s\n", name);
}

/* Wait for `duration` [ns], and take commands meanwhile. */
static void wait_for(int64_t duration)
{
    struct timespec t = {duration / 1000000000, duration % 1000000000};
    struct pollfd commands = {.fd = STDIN_FILENO, .events = POLLIN};
    if (ppoll(&commands, 1, &t, NULL) <= 0)
        return;
    static char text[256];
    static size_t length;
    ssize_t more = read(STDIN_FILENO, text + length, sizeof text - 1 - length);
    if (more <= 0) {
        fclose(record);
        exit(0);
    }
    length += (size_t)more;
    text[length] = 0;
    for (char *end; (end = strchr(text, '\n')) != NULL; length = strlen(text)) {
        *end = 0;
        take_command(text);
        memmove(text, end + 1, strlen(end + 1) + 1);
    }
}

/* Wait until there is a "run" that has not ended, and the bytes that it needs. */
static void step(void)
{
    if (running && avr->cycle >= run_until) {
        printf("run %llu %lu\n", (unsigned long long)avr->cycle, gone);
        running = false;
    }
    while (!running && !to_reset)
        wait_for(1000000000);
    for (int64_t end = now() + 10000000000; line >= 0 && come < awaited && now() < end;) {
        struct pollfd bytes = {.fd = line, .events = POLLIN};
        poll(&bytes, 1, 100);
        take_bytes();
    }
}

static void pace(void)
{
    int64_t due = base + (int64_t)(avr->cycle * 1000 / (FREQUENCY / 1000000));
    int64_t ahead = due - now();
    if (ahead < -LAG_MAX) {
        note(LAG, (unsigned)(-ahead / 10000000 > 255 ? 255 : -ahead / 10000000));
        lags++;
        base -= ahead;
    }
    wait_for(ahead > 0 ? ahead : 0);
    if (paused) {
        int64_t start = now();
        while (paused)
            wait_for(10000000);
        base += now() - start;
    }
}

static void hang(void)
{
    if (!to_hang || avr->state != cpu_Sleeping)
        return;
    to_hang = false;
    hung_at = avr->pc;
    memcpy(hung_code, avr->flash + hung_at, 2);
    memcpy(avr->flash + hung_at, (uint8_t[]){0xFF, 0xCF}, 2); /* rjmp to itself */
}

static avr_cycle_count_t look(avr_t *, avr_cycle_count_t when, void *unused);

/* After a reset, which clears the timers; between timers, simavr runs many instructions at once. */
static void begin_looking(void)
{
    avr->run_cycle_limit = QUANTUM;
    avr_cycle_timer_register(avr, QUANTUM, look, NULL);
}

static avr_cycle_count_t look(avr_t *a, avr_cycle_count_t when, void *unused)
{
    (void)a, (void)unused;
    give_bytes();
    if (stepped)
        step();
    else
        pace();
    take_bytes();
    hang();
    return when + QUANTUM;
}

/* Called within avr_reset, which has cleared the timers; the pins follow. */
static void on_reset(avr_t *a)
{
    if (reset_of_core != NULL)
        reset_of_core(a);
    note(RESET, 0);
    for (uintptr_t pin = 0; pin < 20; pin++)
        on_pin(NULL, 0, (void *)pin);
    if (hung_at != 0)
        memcpy(avr->flash + hung_at, hung_code, 2);
    hung_at = 0;
    to_out = to_in; /* nobody listened */
    begin_looking();
}

static void power_cycle(void)
{
    to_reset = false;
    memset(avr->data, 0xA5, avr->ramend + 1u); /* memory holds anything after power-up */
    avr_reset(avr);
    avr_regbit_set(avr, avr->reset_flags.porf);
    set_emergency();
    printf("reset\n");
}

static void no_log(avr_t *a, const int level, const char *format, va_list arguments)
{
    (void)a;
    if (level <= LOG_ERROR)
        vfprintf(stderr, format, arguments);
}

static void no_sleep(avr_t *a, avr_cycle_count_t how_long)
{
    (void)a, (void)how_long;
}

int main(int count, char **arguments)
{
    elf_firmware_t firmware = {0};
    avr_global_logger_set(no_log);
    if (count < 4 || elf_read_firmware(arguments[1], &firmware) != 0 ||
        (record = fopen(arguments[2], "w")) == NULL) {
        fprintf(stderr, "usage: emulator FIRMWARE.elf RECORD realtime|stepped [wire]\n");
        return 2;
    }
    stepped = strcmp(arguments[3], "stepped") == 0;
    with_wire = count > 4 && strcmp(arguments[4], "wire") == 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    avr = avr_make_mcu_by_name("atmega328p");
    avr_init(avr);
    firmware.frequency = FREQUENCY;
    avr_load_firmware(avr, &firmware);
    avr->frequency = FREQUENCY;
    avr->vcc = avr->avcc = avr->aref = 5000;
    avr->sleep = no_sleep;
    for (avr_io_t *io = avr->io_port; io != NULL; io = io->next)
        if (strcmp(io->kind, "uart") == 0)
            uart = (avr_uart_t *)io;
    avr_extint_set_strict_lvl_trig(avr, 0, 0); /* else simavr looks at a low D2 in every cycle */
    uint32_t flags = 0;
    avr_ioctl(avr, AVR_IOCTL_UART_SET_FLAGS('0'), &flags);
    avr_irq_register_notify(avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUTPUT),
                            on_output, NULL);
    avr_irq_t *receiver = avr_get_interrupt_irq(avr, RECEIVER);
    avr_irq_register_notify(receiver + AVR_INT_IRQ_PENDING, on_receiver, NULL);
    avr_irq_register_notify(receiver + AVR_INT_IRQ_RUNNING, on_receiver, avr);
    watch_pins();
    reset_of_core = avr->reset;
    avr->reset = on_reset;
    begin_looking();
    set_emergency();
    base = now();
    printf("base %lld\n", (long long)base);
    plug("line");
    for (;;) {
        int state = avr_run(avr);
        if (state == cpu_Done || state == cpu_Crashed) {
            fclose(record);
            fprintf(stderr, "the firmware crashed at 0x%x\n", avr->pc);
            return 1;
        }
        if (to_reset)
            power_cycle();
    }
}
