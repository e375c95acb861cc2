#include "sandbox/guest/answer_book.hpp"

#include "sandbox/base/release_memory.hpp"

#include <functional>
#include <string_view>
#include <utility>

namespace berth::guest {
namespace {

std::uint64_t digest_of(const std::string& name)
{
    return std::hash<std::string_view>{}(name);
}

} // namespace

AnswerBook::Standing AnswerBook::standing(const std::string& name) const
{
    const auto found = by_name_.find(name);
    if (found != by_name_.end()) {
        return found->second->standing;
    }
    return remembered_names_.contains(digest_of(name)) ? Standing::let_go : Standing::unknown;
}

bool AnswerBook::is_of(const std::string& name, const Request& request) const
{
    const auto found = by_name_.find(name);
    return found == by_name_.end() || found->second->request == request;
}

bool AnswerBook::is_full()
{
    forget_late();
    return remembered_.size() >= limits_.most_remembered;
}

void AnswerBook::begin(const std::string& name, const Request& request)
{
    entries_.push_back({.name = name, .request = request, .answer = {}, .place = {}, .kept = {}});
    Entry& entry = entries_.back();
    entry.kept = entry.place.insert(entry.place.end(), &entry);
    by_name_.insert_or_assign(name, std::prev(entries_.end()));
    drop_names();
}

void AnswerBook::keep(const std::string& name, Answer answer)
{
    const auto found = by_name_.find(name);
    if (found == by_name_.end() || found->second->standing != Standing::running) {
        return;
    }
    Entry& entry = *found->second;
    if (answer.payload.size() > limits_.bytes) { // it would throw out all others, and then itself
        entry.standing = Standing::let_go;
        drop_names();
        return;
    }
    bytes_ += answer.payload.size();
    entry.answer = std::move(answer);
    entry.standing = Standing::answered;
    kept_.splice(kept_.end(), entry.place);
    while (kept_.size() > limits_.answers || bytes_ > limits_.bytes) {
        drop_answer(*kept_.front());
    }
    drop_names();
}

const AnswerBook::Answer* AnswerBook::answer(const std::string& name) const
{
    const auto found = by_name_.find(name);
    return found != by_name_.end() && found->second->standing == Standing::answered
               ? &found->second->answer
               : nullptr;
}

void AnswerBook::let_go(const std::string& name)
{
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) {
        return;
    }
    if (found->second->standing == Standing::answered) {
        drop_answer(*found->second);
    }
    found->second->standing = Standing::let_go;
    drop_names();
}

void AnswerBook::drop_answer(Entry& entry)
{
    kept_.erase(entry.kept);
    bytes_ -= entry.answer.payload.size();
    release_memory(entry.answer); // its name may be known for long
    entry.standing = Standing::let_go;
}

/// One that runs stays: forgotten, it would be run again.
void AnswerBook::drop_names()
{
    for (auto entry = entries_.begin();
         entries_.size() > limits_.names && entry != entries_.end();) {
        if (entry->standing == Standing::running) {
            ++entry;
            continue;
        }
        if (entry->standing == Standing::answered) {
            drop_answer(*entry);
        }
        const auto digest = digest_of(entry->name);
        if (remembered_names_.insert(digest).second) {
            remembered_.push_back({.until = Deadline::after(limits_.remembered), .name = digest});
        }
        by_name_.erase(entry->name);
        entry = entries_.erase(entry);
    }
    forget_late();
}

void AnswerBook::forget_late()
{
    while (!remembered_.empty() && remembered_.front().until.expired()) {
        remembered_names_.erase(remembered_.front().name);
        remembered_.pop_front();
    }
}

} // namespace berth::guest
