#include "core.h"

#define WATCHDOG_TICKS (WATCHDOG_MS * 1000UL / BOARD_TICK)

/* A silence of less than 256 ticks, an answer of at most 96 bytes, a least value that is not the
 * mark of an output that is off. */
typedef char watchdog_fits[WATCHDOG_TICKS >= 2 && WATCHDOG_TICKS <= 255 ? 1 : -1];
typedef char feedback_fits[18 + 4 * BOARD_CHANNELS + 2 * BOARD_INPUTS <= MESSAGE_MAX ? 1 : -1];
typedef char off_is_no_value[BOARD_LEAST > OUTPUT_OFF ? 1 : -1];

static void send(const uint8_t *message, uint8_t length)
{
    uint8_t wire[1 + FRAME_MAX] = {0}; /* the 0 ends what noise began */
    board_send(wire, (uint8_t)(1 + frame_encode(message, length, wire + 1)));
}

/* End all motion where it is. `reason` is a bit of STATE_STOPPED, or 0: the computer wants it so. */
static void halt(core *c, uint8_t reason)
{
    c->state = (uint8_t)((c->state & ~(unsigned)STATE_ARMED) | reason);
    for (uint8_t i = 0; i < BOARD_CHANNELS; i++)
        if (c->channels[i].on)
            motion_rest(&c->channels[i], board_halt(i));
}

void core_begin(core *c, bool fault)
{
    if (fault)
        c->state = STATE_FAULT;
    board_send((const uint8_t *)"", 1); /* ends whatever the line held before */
}

static enum result configure(core *c, const configure_content *wanted)
{
    if (c->state & STATE_ARMED)
        return IS_ARMED;
    if (wanted->channel >= BOARD_CHANNELS)
        return NO_SUCH_CHANNEL;
    if (wanted->low < BOARD_LEAST || wanted->high > BOARD_GREATEST || wanted->low > wanted->rest ||
        wanted->rest > wanted->high || (BOARD_RATE_MAX != 0 && wanted->rate > BOARD_RATE_MAX))
        return BAD_LIMITS;
    motion_configure(&c->channels[wanted->channel], wanted->low, wanted->high, wanted->rate);
    return TAKEN;
}

static enum result arm(core *c, bool begin)
{
    if (!begin) {
        halt(c, 0);
        return TAKEN;
    }
    bool configured = false;
    for (uint8_t i = 0; i < BOARD_CHANNELS; i++)
        configured = configured || c->channels[i].configured;
    if (!configured)
        return NOT_CONFIGURED;
    if (board_emergency())
        return STOPPED;
    halt(c, 0); /* what a computer before this one had wanted */
    c->state = STATE_ARMED;
    c->silent_ticks = 0;
    c->any_sequence = true;
    c->parser.dropped = 0;
    c->refused = 0;
    return TAKEN;
}

/* Why a command may not be taken, or TAKEN. */
static enum result check(const core *c, uint16_t sequence, const command_content *command)
{
    if (c->state & STATE_STOPPED)
        return STOPPED;
    if (!(c->state & STATE_ARMED))
        return NOT_ARMED;
    uint16_t ahead = (uint16_t)(sequence - c->taken);
    if (!c->any_sequence && (ahead == 0 || ahead > 32767u))
        return NOT_NEWER;
    if ((uint32_t)command->mask >> BOARD_CHANNELS)
        return NO_SUCH_CHANNEL;
    for (uint8_t i = 0; i < BOARD_CHANNELS; i++) {
        if (!(command->mask >> i & 1u))
            continue;
        if (!c->channels[i].configured)
            return NOT_CONFIGURED;
        if (command->values[i] < c->channels[i].low || command->values[i] > c->channels[i].high)
            return OUTSIDE_LIMITS;
    }
    return TAKEN;
}

/* Ticks over which the motion of a command is spread; 0: none. */
static uint8_t ticks_to_glide(const core *c, uint32_t time)
{
    if (!BOARD_GLIDE || c->any_sequence)
        return 0;
    uint32_t ticks = (time - c->command_time) / BOARD_TICK;
    return ticks > WATCHDOG_TICKS ? 0 : (uint8_t)ticks;
}

static enum result take(core *c, uint16_t sequence, const command_content *command)
{
    enum result result = check(c, sequence, command);
    if (result != TAKEN) {
        if (c->refused < 0xFFFFu)
            c->refused++;
        return result;
    }
    uint8_t ticks = ticks_to_glide(c, command->time);
    for (uint8_t i = 0; i < BOARD_CHANNELS; i++) {
        channel *output = &c->channels[i];
        if (!(command->mask >> i & 1u))
            continue;
        if (output->on) {
            motion_aim(output, command->values[i], ticks);
        } else {
            output->on = true;
            motion_rest(output, command->values[i]);
            board_switch_on(i, command->values[i]);
        }
    }
    c->taken = sequence;
    c->any_sequence = false;
    c->command_time = command->time;
    c->silent_ticks = 0;
    return TAKEN;
}

static void send_info(uint16_t sequence)
{
    uint8_t message[MESSAGE_MAX];
    info_content info = {
        .major = FIRMWARE_MAJOR,
        .minor = FIRMWARE_MINOR,
        .channels = BOARD_CHANNELS,
        .inputs = BOARD_INPUTS,
        .watchdog = WATCHDOG_MS,
        .rate_max = BOARD_COMMANDS_MAX,
        .unit = BOARD_UNIT,
        .least = BOARD_LEAST,
        .greatest = BOARD_GREATEST,
        .name = BOARD_NAME,
    };
    send(message, encode_info(message, sequence, &info));
}

static void send_ack(uint16_t sequence, uint8_t type, enum result result)
{
    uint8_t message[MESSAGE_MAX];
    send(message, encode_ack(message, sequence, type, result));
}

static void send_feedback(const core *c, uint16_t sequence, enum result result)
{
    int32_t outputs[BOARD_CHANNELS];
    uint16_t analogue[BOARD_INPUTS];
    uint8_t message[MESSAGE_MAX], state = c->state;
    for (uint8_t i = 0; i < BOARD_CHANNELS; i++) {
        const channel *output = &c->channels[i];
        outputs[i] = output->on ? board_output(i) : OUTPUT_OFF;
        if (output->on && (position)outputs[i] * POSITION_ONE != output->target)
            state |= STATE_MOVING;
    }
    for (uint8_t i = 0; i < BOARD_INPUTS; i++)
        analogue[i] = board_input(i);
    feedback_content feedback = {
        .state = state,
        .result = (uint8_t)result,
        .taken = c->taken,
        .time = board_time(),
        .dropped = c->parser.dropped,
        .refused = c->refused,
        .channels = BOARD_CHANNELS,
        .inputs = BOARD_INPUTS,
        .outputs = outputs,
        .analogue = analogue,
    };
    send(message, encode_feedback(message, sequence, &feedback));
}

static void answer(core *c, const request *asked)
{
    switch (asked->type) {
    case HELLO:
        send_info(asked->sequence);
        break;
    case CONFIGURE:
        send_ack(asked->sequence, CONFIGURE, configure(c, &asked->content.configure));
        break;
    case ARM:
        send_ack(asked->sequence, ARM, arm(c, asked->content.arm));
        break;
    case COMMAND:
        send_feedback(c, asked->sequence, take(c, asked->sequence, &asked->content.command));
        break;
    case STOP:
        halt(c, STATE_STOP);
        send_ack(asked->sequence, STOP, TAKEN);
        break;
    default: /* PING */
        send_feedback(c, asked->sequence, TAKEN);
        break;
    }
}

void core_receive(core *c, uint8_t byte)
{
    uint8_t length = frame_receive(&c->parser, byte);
    if (length == 0)
        return;
    request asked;
    if (message_decode(c->parser.bytes, length, &asked))
        answer(c, &asked);
    else
        frame_drop(&c->parser);
}

void core_tick(core *c)
{
    if (board_emergency() && !(c->state & STATE_EMERGENCY))
        halt(c, STATE_EMERGENCY);
    if (!(c->state & STATE_ARMED))
        return;
    if (++c->silent_ticks >= WATCHDOG_TICKS) {
        halt(c, STATE_WATCHDOG);
        return;
    }
    for (uint8_t i = 0; i < BOARD_CHANNELS; i++)
        if (c->channels[i].at != c->channels[i].target)
            board_move(i, motion_step(&c->channels[i]));
}
