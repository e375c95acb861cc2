#include "sandbox/receipt.hpp"

#include "sandbox/guest_connection.hpp"
#include "sandbox/late_words.hpp"

#include <exception>
#include <utility>

namespace berth::sandbox {

ConnectionPool::ConnectionPool(std::size_t most) : most_(most), places_(std::make_shared<char>()) {}

ConnectionPool::~ConnectionPool() = default;

std::unique_ptr<GuestConnection> ConnectionPool::take()
{
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) {
        return nullptr;
    }
    auto connection = std::move(idle_.back());
    idle_.pop_back();
    return connection;
}

void ConnectionPool::give_back(std::unique_ptr<GuestConnection> connection)
{
    const std::lock_guard lock(mutex_);
    if (connection && idle_.size() < most_) {
        idle_.push_back(std::move(connection));
    }
}

void ConnectionPool::clear()
{
    const std::lock_guard lock(mutex_);
    idle_.clear();
}

void ConnectionPool::hang_up(const Deadline& deadline)
{
    std::vector<std::unique_ptr<GuestConnection>> gone;
    {
        const std::lock_guard lock(mutex_);
        gone.swap(idle_);
    }
    for (const auto& connection : gone) {
        connection->hang_up(deadline);
    }
}

std::shared_ptr<void> ConnectionPool::place_until_read()
{
    // A guest has 128 in all; a client that reads nothing while it asks again and again shall not
    // take them from the others.
    constexpr long most_places = 32;
    const std::lock_guard lock(mutex_);
    return places_.use_count() > most_places ? nullptr : places_;
}

bool ReadMark::is_set() const
{
    const std::lock_guard lock(mutex_);
    return set_;
}

void ReadMark::set()
{
    std::function<void()> action;
    {
        const std::lock_guard lock(mutex_);
        set_ = true;
        action = std::exchange(action_, nullptr);
    }
    if (action) {
        action();
    }
}

void ReadMark::then(std::function<void()> action)
{
    {
        const std::lock_guard lock(mutex_);
        if (!set_) {
            action_ = std::move(action);
            return;
        }
    }
    action();
}

Receipt::Receipt() noexcept = default;

Receipt::Receipt(std::unique_ptr<GuestConnection> connection, std::shared_ptr<ConnectionPool> pool,
                 std::shared_ptr<void> place)
    : connection_(std::move(connection)), pool_(std::move(pool)), place_(std::move(place))
{
}

Receipt::Receipt(std::string call, std::shared_ptr<LateWords> words) noexcept
    : call_(std::move(call)), words_(std::move(words))
{
}

Receipt::Receipt(std::shared_ptr<ReadMark> read) noexcept : read_(std::move(read)) {}

/// With its connection the guest sees it go; of one that was not kept it has to be told.
Receipt::~Receipt()
{
    say_later(&LateWords::given_up);
}

Receipt::Receipt(Receipt&&) noexcept = default;

Receipt& Receipt::operator=(Receipt&& other) noexcept
{
    if (this != &other) {
        say_later(&LateWords::given_up);
        connection_ = std::move(other.connection_);
        pool_ = std::move(other.pool_);
        place_ = std::move(other.place_);
        call_ = std::move(other.call_);
        words_ = std::move(other.words_);
        read_ = std::move(other.read_);
    }
    return *this;
}

void Receipt::acknowledge() noexcept
{
    if (read_) {
        read_->set();
    }
    say_later(&LateWords::seen);
    say(&GuestConnection::acknowledge);
}

void Receipt::decline() noexcept
{
    say_later(&LateWords::declined);
    say(&GuestConnection::decline);
}

void Receipt::say_later(void (LateWords::*word)(const std::string&)) noexcept
{
    const auto words = std::exchange(words_, nullptr);
    if (!words) {
        return;
    }
    try {
        (*words.*word)(call_);
    } catch (const std::exception&) {
        return; // no memory: then the guest keeps the outcome for whoever comes next
    }
}

void Receipt::say(void (GuestConnection::*word)()) noexcept
{
    auto connection = std::exchange(connection_, nullptr);
    if (!connection) {
        return;
    }
    try {
        (*connection.*word)();
        if (pool_) {
            pool_->give_back(std::move(connection));
        }
    } catch (const std::exception&) {
        connection.reset(); // the guest is gone, and whatever it knew
    }
    place_.reset();
}

} // namespace berth::sandbox
