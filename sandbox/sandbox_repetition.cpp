#include "sandbox/call_errors.hpp"
#include "sandbox/late_words.hpp"
#include "sandbox/protocol/call_name.hpp"
#include "sandbox/protocol/wire.hpp"
#include "sandbox/sandbox_calls.hpp"
#include "sandbox/wait_for.hpp"

#include <algorithm>
#include <array>
#include <utility>

// A call whose connection broke before its answer came is asked for again, by its name.

namespace berth::sandbox {
namespace {

using protocol::Operation;

constexpr std::array after_an_accident{std::chrono::milliseconds(0), std::chrono::milliseconds(50),
                                       std::chrono::milliseconds(250)};
constexpr std::array unanswered_rests{std::chrono::milliseconds(0), std::chrono::milliseconds(500),
                                      std::chrono::milliseconds(1500),
                                      std::chrono::milliseconds(4000)};
constexpr std::chrono::milliseconds longest_of_cancel{500};

/// How often, and for how long, one call is asked for.
class Repetitions {
  public:
    Repetitions(const Exchange& first, bool kept, const Error& cause, bool unanswered)
        : first_(first), kept_(kept), cause_(cause), last_(cause), unanswered_(unanswered),
          until_(first.deadline)
    {
    }

    /// Before the next one; false: there is none.
    bool wait()
    {
        const auto pause = next_pause();
        if (!pause) {
            return false;
        }
        wait_for(*pause, stopped_ ? std::stop_token() : first_.stop);
        if (!stopped_ && first_.stop.stop_requested()) {
            stopped_ = true;
            until_ = Deadline::earlier(until_, Deadline::after(Sandbox::cancel_time));
        }
        return !until_.expired();
    }

    [[nodiscard]] bool stopped() const noexcept { return stopped_; }

    [[nodiscard]] bool gone() const noexcept { return gone_; }

    [[nodiscard]] const Deadline& until() const noexcept { return until_; }

    /// `gone`: the machine is, for certain.
    void failed(const Error& error, bool unanswered, bool gone)
    {
        if (gone || !gone_) {
            last_ = error;
        }
        gone_ = gone_ || gone;
        unanswered_ = unanswered && !gone_;
    }

    [[noreturn]] void give_up() const
    {
        if (stopped_ && insists()) {
            throw_not_confirmed(last_);
        }
        if (until_.expired()) {
            throw_not_asked(cause_, first_.operation);
        }
        // What broke first says more, where it says the same.
        throw_unknown(tells_of_a_loss(last_) && tells_of_a_loss(cause_) ? cause_ : last_,
                      first_.operation);
    }

  private:
    /// A cancel is not dropped for an outage that may pass: what it is for goes on meanwhile.
    [[nodiscard]] bool insists() const noexcept { return !kept_ && !gone_; }

    [[nodiscard]] std::optional<std::chrono::milliseconds> next_pause() noexcept
    {
        const auto pause = pause_before(repetition_++, unanswered_);
        return stopped_ && insists()
                   ? std::min(pause.value_or(longest_of_cancel), longest_of_cancel)
                   : pause;
    }

    const Exchange& first_;
    const bool kept_;
    const Error cause_;
    Error last_;
    bool unanswered_;
    bool gone_ = false;
    bool stopped_ = false;
    Deadline until_;
    std::size_t repetition_ = 0;
};

} // namespace

std::optional<std::chrono::milliseconds> pause_before(std::size_t repetition,
                                                      bool unanswered) noexcept
{
    if (unanswered) {
        return repetition < unanswered_rests.size() ? std::optional(unanswered_rests[repetition])
                                                    : std::nullopt;
    }
    return repetition < after_an_accident.size() ? std::optional(after_an_accident[repetition])
                                                 : std::nullopt;
}

/// The guest, while it lives, answers what it has answered or answers now, and never does it twice.
/// Where the call cannot be sent again, or shall not, it is asked for the answer alone. Neither
/// takes longer than the call may, nor much longer than a cancel may.
Sandbox::Answered Sandbox::repeat(const Exchange& first, const Broken& cause, bool data_given)
{
    const auto recall = protocol::encode(protocol::CallName{.name = std::string(first.name)});
    Repetitions repetitions(first, reach_.kept, cause, cause.is_unanswered());
    while (repetitions.wait()) {
        Exchange again = first;
        if (data_given || repetitions.stopped()) {
            again.operation = Operation::recall;
            again.request = recall;
            again.source = nullptr;
        }
        try {
            const auto stop = repetitions.stopped() ? std::stop_token() : first.stop;
            auto answered = take_answer(connect_again(first, stop, repetitions.until()), again);
            if (answered.answer.is_error) {
                judge_repetition(answered, first.source != nullptr, first.stop.stop_requested());
            }
            return answered;
        } catch (const Unsent& unsent) { // the question alone: what was asked first has been sent
            repetitions.failed(unsent, !unsent.is_of_gone(), unsent.is_of_gone());
        } catch (const Broken& broken) {
            repetitions.failed(broken, broken.is_unanswered(), /*gone=*/false);
        }
        if (left(first)) {
            throw_left(/*has_begun=*/true);
        }
    }
    if (!repetitions.gone()) {
        ask_no_more(first, repetitions.stopped());
    }
    repetitions.give_up();
}

/// The guest hears of it with the next request, whose answer can name what became of the call.
/// `cancelled`: where no connection was kept to say it, the guest may not have heard of that.
void Sandbox::ask_no_more(const Exchange& exchange, bool cancelled)
{
    if (exchange.name.empty()) {
        return;
    }
    const std::string name(exchange.name);
    if (!words_) {
        given_up_.add(name);
    } else if (cancelled) {
        words_->declined(name);
    } else {
        words_->given_up(name);
    }
}

/// A stop request ends the attempt: the next one asks for the answer alone.
std::unique_ptr<GuestConnection>
Sandbox::connect_again(const Exchange& first, const std::stop_token& stop, const Deadline& until)
{
    try {
        return connect(stop, until, first.way);
    } catch (const Error& error) {
        // A token that is refused: another machine's guest is there, which knows nothing of the
        // call. That says as little as none of what the one before it has done.
        if (tells_of_a_loss(error) || error.code() == ErrorCode::cancelled) {
            throw Broken(error, /*begun=*/true, /*repeats=*/true);
        }
        ask_no_more(first, /*cancelled=*/false);
        throw_not_asked(error, first.operation);
    }
}

/// Throws where the guest's error is not the answer of the call.
void Sandbox::judge_repetition(Answered& answered, bool imports, bool stopped)
{
    const auto error = remote_error(answered.answer.payload);
    const bool unknown = error.details().contains(protocol::unknown_call);
    if (!unknown && (stopped || error.code() != ErrorCode::cancelled)) {
        return;
    }
    idle_->give_back(std::move(answered.connection));
    if (!unknown) {
        throw_broke_off(error, imports);
    }
    if (stopped) {
        throw_not_begun();
    }
    throw_data_lost();
}

} // namespace berth::sandbox
