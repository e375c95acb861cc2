#include "sandbox/local/handover.hpp"

#include "sandbox/base/descriptors.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

namespace berth::local {
namespace {

// One byte for each descriptor says what it is, after one that is always there: without a byte
// nothing can be sent.
constexpr char begin = '.';
constexpr char begin_limited = 'h';

/// Calls `visit(kind, field)` for each field; a kind that comes more than once is a vector.
template <class Parts, class Visit>
void each_part(Parts& parts, const Visit& visit)
{
    visit('l', parts.listen);
    visit('p', parts.parting);
    visit('o', parts.oom_events);
    visit('n', parts.pids_events);
    visit('u', parts.cpu_stat);
    visit('r', parts.run_cgroup);
    visit('f', parts.freezer);
    visit('g', parts.guest_tasks);
    visit('c', parts.command_tasks);
    visit('m', parts.mounts);
}

class Collector {
  public:
    explicit Collector(bool home_limited) : kinds_{home_limited ? begin_limited : begin} {}

    void operator()(char kind, const UniqueFd& fd)
    {
        if (fd) {
            kinds_ += kind;
            descriptors_.push_back(fd.get());
        }
    }

    void operator()(char kind, const std::vector<UniqueFd>& all)
    {
        for (const auto& fd : all) {
            (*this)(kind, fd);
        }
    }

    [[nodiscard]] bool send(int socket) const
    {
        return send_descriptors(socket, kinds_, descriptors_);
    }

  private:
    std::string kinds_;
    std::vector<int> descriptors_;
};

/// Takes a descriptor if it is of the kind of this part.
class Placer {
  public:
    Placer(char kind, UniqueFd& fd) : kind_(kind), fd_(fd) {}

    void operator()(char kind, UniqueFd& part) const
    {
        if (kind == kind_) {
            part = std::move(fd_);
        }
    }

    void operator()(char kind, std::vector<UniqueFd>& part) const
    {
        if (kind == kind_) {
            part.push_back(std::move(fd_));
        }
    }

  private:
    char kind_;
    UniqueFd& fd_;
};

void add(UniqueFd& to, UniqueFd& part)
{
    if (!to) {
        to = std::move(part);
    }
}

void add(std::vector<UniqueFd>& to, std::vector<UniqueFd>& part)
{
    std::move(part.begin(), part.end(), std::back_inserter(to));
}

} // namespace

void add_to(Handover& handover, Handover other)
{
    add(handover.oom_events, other.oom_events);
    add(handover.pids_events, other.pids_events);
    add(handover.cpu_stat, other.cpu_stat);
    add(handover.freezer, other.freezer);
    add(handover.guest_tasks, other.guest_tasks);
    add(handover.command_tasks, other.command_tasks);
}

bool send_handover(int socket, const Handover& handover)
{
    Collector collector(handover.home_limited);
    each_part(handover, [&](char kind, const auto& part) { collector(kind, part); });
    return collector.send(socket);
}

std::optional<Handover> receive_handover(int socket)
{
    auto message = receive_descriptors(socket, max_descriptors + 1);
    if (message.bytes.size() != message.descriptors.size() + 1) {
        return std::nullopt;
    }
    Handover handover;
    handover.home_limited = message.bytes.front() == begin_limited;
    for (std::size_t i = 0; i < message.descriptors.size(); ++i) {
        const Placer place(message.bytes[i + 1], message.descriptors[i]);
        each_part(handover, place);
    }
    return handover;
}

} // namespace berth::local
