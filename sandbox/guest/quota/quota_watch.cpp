#include "sandbox/guest/quota/quota_watch.hpp"

#include "sandbox/base/error.hpp"

#include <algorithm>
#include <utility>

namespace berth::guest {
namespace {

/// Most commands have ended by then, and the count that their result makes is enough.
constexpr std::chrono::milliseconds first_look{50};

/// Glances between two counts: what the kernel tells that commands have written costs little. Each
/// may bring the next count, so in a large home they are as far apart as counting it takes: closer
/// ones could have it counted all the time, for commands that write elsewhere.
constexpr int glances = 10;

/// With none at all a command could not write to /tmp either what it takes to make room: a list of
/// files, a here-document.
constexpr std::uint64_t smallest_file_limit = 4096;

/// A command is stopped within two seconds, or its stop is given up.
constexpr std::chrono::seconds stop_patience{5};

std::string reason(std::uint64_t used, std::uint64_t limit)
{
    return "the command was stopped since it made the home too large: that has " +
           std::to_string(used) + " bytes and may have " + std::to_string(limit) +
           " (session.quota). Nothing was deleted. /tmp does not count; `du -xh -d 2 ~ | sort -h | "
           "tail` shows what is large";
}

} // namespace

QuotaWatch::QuotaWatch(EventLoop& loop, Workers& workers, std::shared_ptr<HomeQuota> quota,
                       Host host)
    : loop_(loop), workers_(workers), quota_(std::move(quota)), host_(std::move(host)),
      level_(quota_->limit())
{
}

QuotaWatch::~QuotaWatch()
{
    *alive_ = false;
    loop_.cancel(timer_);
}

void QuotaWatch::began()
{
    step_ = step;
    const bool exact = quota_->is_exact();
    if (!run_ || exact) {
        run_ = true;
        level_.set_limit(quota_->limit());
        level_.begin(exact ? quota_->state().used : std::nullopt);
    }
    quota_->set_commands_run(true); // also of one that begins before the end of another was noticed
    look_in(first_look);
}

void QuotaWatch::hold()
{
    held_ = true;
    loop_.cancel(timer_);
}

void QuotaWatch::go_on()
{
    held_ = false;
    if (run_) {
        look_in(first_look);
    }
}

std::uint64_t QuotaWatch::file_limit()
{
    level_.set_limit(quota_->limit());
    const auto rest = level_.rest_of_slack(quota_->state().used.value_or(0));
    return rest ? std::max(*rest, smallest_file_limit) : 0;
}

void QuotaWatch::look_in(BootClock::duration time)
{
    next_look_ = BootClock::now() + time;
    glance_in(time / glances);
}

void QuotaWatch::glance_in(BootClock::duration time)
{
    if (!held_) {
        loop_.cancel(timer_);
        timer_ = loop_.call_at(BootClock::now() + time, [this, time] {
            if (BootClock::now() < next_look_ && !may_exceed()) {
                glance_in(time);
            } else {
                look();
            }
        });
    }
}

/// By what has been written since the last count, were all of it in the home.
bool QuotaWatch::may_exceed()
{
    if (stopping_since_) {
        return false;
    }
    std::uint64_t more = 0;
    for (const auto& writer : host_.writers()) {
        more += since_count(writer);
    }
    return more > 0 &&
           quota_->state().used.value_or(0) + more > quota_->limit() + QuotaLevel::slack;
}

std::uint64_t QuotaWatch::since_count(const Writer& writer)
{
    kernel_tells_ = kernel_tells_ || writer.written > 0;
    const auto before = written_.find(writer.id);
    return writer.written -
           (before == written_.end() ? 0 : std::min(before->second, writer.written));
}

void QuotaWatch::look()
{
    if (stopping_since_) {
        if (BootClock::now() - *stopping_since_ < stop_patience) {
            look_in(step);
            return;
        }
        stopped();
    }
    if (host_.writers().empty()) {
        run_ = false;
        written_.clear();
        quota_->set_commands_run(false);
        if (!quota_->is_exact()) {
            count(); // the next command is measured by it
        }
        return;
    }
    count();
}

void QuotaWatch::count()
{
    if (std::exchange(counting_, true)) {
        return;
    }
    try {
        workers_.run(
            [this, &loop = loop_, quota = quota_, alive = alive_, era = era_] {
                const auto begin = std::chrono::steady_clock::now();
                Count count;
                try {
                    count.used = quota->count();
                } catch (const std::exception&) {
                    count.used.reset(); // no memory, no descriptor: the next one may have them
                }
                count.took = std::chrono::steady_clock::now() - begin;
                loop.post([this, alive, era, count] {
                    if (*alive) {
                        counted(era, count);
                    }
                });
            },
            Workers::Kind::brief); // two listings that hang would be the end of all counting
    } catch (const Error&) {
        counting_ = false; // all threads are busy
        look_in(longest_step);
    }
}

void QuotaWatch::counted(std::uint64_t era, const Count& count)
{
    counting_ = false;
    if (!run_ || held_) {
        return; // who goes on looks again; what is frozen cannot be stopped, nor write
    }
    const auto usual = std::max<BootClock::duration>(step, 10 * count.took);
    if (!count.used || era != era_ || stopping_since_) {
        look_in(usual);
        return;
    }
    level_.set_limit(quota_->limit());
    const auto verdict = level_.judge(*count.used);
    if (verdict == QuotaLevel::Verdict::doubtful) {
        look();
        return;
    }
    if (verdict == QuotaLevel::Verdict::exceeded) {
        stop_one(*count.used);
        return;
    }
    written_.clear();
    for (const auto& writer : host_.writers()) {
        written_.emplace(writer.id, writer.written);
    }
    step_ = std::exchange(last_used_, *count.used) == *count.used ? 2 * step_ : usual;
    step_ = std::clamp<BootClock::duration>(step_, usual,
                                            std::max(usual, BootClock::duration(longest_step)));
    look_in(step_);
}

/// Who has written most since the home was small enough; where the kernel does not tell what
/// anybody has, the newest. None: those who wrote have ended.
const QuotaWatch::Writer* QuotaWatch::culprit(const std::vector<Writer>& writers)
{
    const Writer* found = nullptr;
    std::uint64_t most = 0;
    for (const auto& writer : writers) {
        const std::uint64_t since = since_count(writer);
        if (since >= most) {
            most = since;
            found = &writer;
        }
    }
    return most == 0 && kernel_tells_ ? nullptr : found;
}

void QuotaWatch::stop_one(std::uint64_t used)
{
    const auto writers = host_.writers();
    const Writer* const writer = culprit(writers);
    if (writer == nullptr) {
        level_.forgive(); // the others must not be stopped for it
        look_in(step);
        return;
    }
    stopping_since_ = BootClock::now();
    look_in(step);
    host_.stop(writer->id, reason(used, quota_->limit()), [this, alive = alive_] {
        if (*alive) {
            stopped();
        }
    });
}

/// What it has written until now, and others meanwhile, is not held against those.
void QuotaWatch::stopped()
{
    if (!stopping_since_) {
        return;
    }
    stopping_since_.reset();
    ++era_;
    level_.forgive();
    look_in(BootClock::duration(0));
}

} // namespace berth::guest
