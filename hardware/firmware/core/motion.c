#include "motion.h"

#include "board_config.h"

#define ANY_STEP INT64_MAX

/* Greatest change in a tick at a rate [unit/s], rounded down: 2^32 * 10^4 * 2^16 < 2^62. */
static position step_of(uint32_t rate)
{
    return (position)((uint64_t)rate * BOARD_TICK * POSITION_ONE / 1000000u);
}

void motion_configure(channel *c, int32_t low, int32_t high, uint32_t rate)
{
    if (rate == 0)
        rate = BOARD_RATE_MAX;
    c->low = low;
    c->high = high;
    c->step_max = rate == 0 ? ANY_STEP : step_of(rate);
    c->step = c->step_max;
    c->configured = true;
}

void motion_aim(channel *c, int32_t target, uint8_t ticks)
{
    c->target = (position)target * POSITION_ONE;
    c->step = c->step_max;
    if (ticks == 0)
        return;
    position way = c->target > c->at ? c->target - c->at : c->at - c->target;
    if (way <= INT32_MAX) { /* longer ways take the rate anyway; 64-bit divisions are slow */
        position even = (position)((uint32_t)way / ticks + 1u);
        if (even < c->step_max)
            c->step = even;
    }
}

position motion_step(channel *c)
{
    position way = c->target - c->at;
    if (way > c->step)
        way = c->step;
    else if (way < -c->step)
        way = -c->step;
    c->at += way;
    return c->at;
}

void motion_rest(channel *c, int32_t value)
{
    c->at = c->target = (position)value * POSITION_ONE;
}
