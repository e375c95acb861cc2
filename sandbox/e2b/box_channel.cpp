#include "sandbox/e2b/box_channel.hpp"

#include "sandbox/protocol/residence.hpp"
#include "sandbox/wait_for.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <utility>
#include <variant>

namespace berth::e2b {
namespace {

using protocol::ConnectorEnd;

constexpr std::size_t longest_complaint = 2048;
/// A frame without a payload, such as a cancel: too little to open a stream for.
constexpr std::size_t longest_frame = 64;
constexpr std::chrono::seconds frame_time{10};
/// One that is worth nothing later goes again on another connection, as long as its call waits.
constexpr std::chrono::milliseconds urgent_time{1500};
constexpr int no_room_now = 429;
constexpr std::array frame_rests{std::chrono::milliseconds(100), std::chrono::milliseconds(400),
                                 std::chrono::milliseconds(1000)};
constexpr std::chrono::milliseconds end_time{100};
/// What a shell, and what envd starts commands by, say of a program that is not there. (126 is said
/// for want of memory too, and tells nothing of the guest.)
constexpr int not_there = 127;

Error lost(const std::string& why)
{
    return {ErrorCode::session_lost, "the connection to the sandbox broke: " + why};
}

[[noreturn]] void throw_unsent(const std::string& why,
                               sandbox::Unsent::Of of = sandbox::Unsent::Of::gone)
{
    throw sandbox::Unsent(Error(ErrorCode::session_lost, why), of);
}

} // namespace

BoxChannel::BoxChannel(std::shared_ptr<EnvdClient> envd, ProcessStream stream)
    : envd_(std::move(envd)), stream_(std::move(stream))
{
}

/// The end of the process comes right behind the answer, and with it the connection can be used for
/// the next call. Whoever was cut off has no time for that.
BoxChannel::~BoxChannel()
{
    try {
        const auto deadline = Deadline::after(is_shut() ? std::chrono::milliseconds(0) : end_time);
        while (!deadline.expired() && take_event(deadline)) {
            incoming_.clear();
        }
        if (ended_ && stream_.next(deadline)) {
            stream_.cut();
        }
    } catch (const std::exception&) {
        stream_.cut();
    }
    BoxChannel::shutdown();
}

bool BoxChannel::is_shut() noexcept
{
    const std::lock_guard lock(mutex_);
    return shut_;
}

void BoxChannel::await_guest(const Deadline& deadline)
try {
    while (incoming_.empty()) {
        if (!take_event(deadline)) {
            throw lost("the guest closed it without an answer");
        }
    }
} catch (const StatusError& error) {
    if (pid_ != 0) { // it has been started, whatever became of it then
        throw lost(error.what());
    }
    throw;
}

/// False at the end.
bool BoxChannel::take_event(const Deadline& deadline)
{
    if (ended_) {
        return false;
    }
    const auto event = stream_.next(deadline);
    if (!event) {
        throw lost("its stream ended before its process");
    }
    if (const auto* started = std::get_if<ProcessStarted>(&*event)) {
        pid_ = started->pid;
    } else if (const auto* output = std::get_if<ProcessOutput>(&*event)) {
        if (output->stream == ProcessOutput::Stream::out) {
            incoming_.append(output->bytes);
        } else {
            take_complaint(output->bytes);
        }
    } else if (const auto* end = std::get_if<ProcessEnded>(&*event)) {
        take_end(*end);
    }
    return true;
}

void BoxChannel::take_complaint(std::string_view bytes)
{
    complaint_.append(
        bytes.substr(0, longest_complaint - std::min(longest_complaint, complaint_.size())));
}

/// What its exit says of the call. Where the guest has said something already, that counts.
void BoxChannel::take_end(const ProcessEnded& end)
{
    ended_ = true;
    if (!end.exited) {
        throw lost("its connector was ended: " + quotable(end.status, {}));
    }
    switch (static_cast<ConnectorEnd>(end.exit_code)) {
    case ConnectorEnd::answered:
    case ConnectorEnd::closed:
        return;
    case ConnectorEnd::not_opened:
        throw_unsent("the sandbox has the guest of another machine", sandbox::Unsent::Of::replaced);
    case ConnectorEnd::nobody_there:
        throw_unsent("no guest is in the sandbox any more");
    case ConnectorEnd::left_unread:
        throw sandbox::LeftUnread(ErrorCode::session_lost,
                                  "the connection to the sandbox broke: its guest has not read it");
    case ConnectorEnd::not_taken_off:
        throw lost("what the guest said was not taken off for too long");
    case ConnectorEnd::failed:
        break;
    }
    if (end.exit_code == not_there) {
        throw_unsent("the sandbox has no connector: " + quotable(complaint_, {}));
    }
    throw lost("its connector failed: " + quotable(complaint_, {}));
}

std::size_t BoxChannel::receive(char* data, std::size_t size, const Deadline& deadline)
try {
    while (taken_ == incoming_.size()) {
        incoming_.clear();
        taken_ = 0;
        if (!take_event(deadline)) {
            return 0;
        }
    }
    const auto length = std::min(size, incoming_.size() - taken_);
    incoming_.copy(data, length, taken_);
    taken_ += length;
    return length;
} catch (const sandbox::Unsent& end) {
    throw lost(end.what()); // the guest has spoken, so it had something
} catch (const HttpFailure& failure) {
    if (failure.cause() == HttpFailure::Cause::cut) {
        return 0;
    }
    if (failure.cause() == HttpFailure::Cause::expired) {
        if (lost_input()) {
            throw lost("what was sent to the guest has not arrived");
        }
        throw Error(ErrorCode::backend_error, "the sandbox did not answer in time");
    }
    throw lost(failure.what());
} catch (const StatusError& error) {
    throw lost(error.what());
}

void BoxChannel::send(std::string_view bytes)
{
    send_by_input(bytes, Deadline());
}

void BoxChannel::send_urgent(std::string_view bytes)
{
    send_by_input(bytes, Deadline::after(urgent_time));
}

void BoxChannel::send_by_input(std::string_view bytes, const Deadline& deadline)
{
    try {
        if ((!input_ || all_sent_) && bytes.size() <= longest_frame) {
            send_frame(bytes, Deadline::earlier(deadline, Deadline::after(frame_time)));
        } else {
            input().send(bytes, deadline);
        }
    } catch (const HttpFailure& failure) {
        throw lost(failure.what());
    } catch (const StatusError& error) {
        throw lost(error.what());
    }
}

/// Nothing but its length and kind is in envd's log by this. What nobody has certainly had is sent
/// again; nothing else is, since a frame that comes twice is no stream of frames any more.
void BoxChannel::send_frame(std::string_view bytes, const Deadline& deadline)
{
    const auto stop = shutting_.get_token();
    for (const auto rest : frame_rests) {
        try {
            envd_->send_input(pid_, bytes, deadline, stop);
            return;
        } catch (const StatusError& refusal) {
            if (refusal.status() != no_room_now) {
                throw;
            }
        } catch (const HttpFailure& failure) {
            if (!failure.unsent()) {
                throw;
            }
        }
        sandbox::wait_for(rest, stop);
    }
    envd_->send_input(pid_, bytes, deadline, stop);
}

InputStream& BoxChannel::input()
{
    const std::lock_guard lock(mutex_);
    if (shut_) {
        throw lost("it was given up");
    }
    if (!input_) {
        input_.emplace(envd_->stream_input(pid_));
    }
    return *input_;
}

/// The end of it is on its way when send() returns, and the guest is told nothing if that does not
/// come: it would wait for half a minute.
void BoxChannel::sent_all() noexcept
{
    const std::lock_guard lock(mutex_);
    if (input_) {
        all_sent_ = true;
        input_->end();
    }
}

bool BoxChannel::lost_input()
{
    const std::lock_guard lock(mutex_);
    return input_ && all_sent_ && input_->was_lost();
}

void BoxChannel::shutdown() noexcept
{
    shutting_.request_stop();
    if (!ended_) {
        stream_.cut();
    }
    const std::lock_guard lock(mutex_);
    shut_ = true;
    if (input_) {
        input_->cut();
    }
}

} // namespace berth::e2b
