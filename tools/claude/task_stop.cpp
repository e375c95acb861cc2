#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/aliases.hpp"
#include "tools/claude/dialect.hpp"
#include "tools/decode.hpp"
#include "tools/render.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <utility>

namespace berth::tools::claude {
namespace {

using nlohmann::json;

/// Its older name, which is not in the schema, as it is going out of use there.
json by_its_name(const json& arguments)
{
    static constexpr std::array table = {Alias{"shell_id", "task_id"}};
    return canonical_arguments(arguments, table);
}

/// How a command is that had ended before.
std::string status(const json& data)
{
    return data.at("ended_by") == "kill" ? "killed"
           : data.at("exit_code") == 0   ? "completed"
                                         : "failed";
}

} // namespace

std::string TaskStop::describe(const Settings& /*settings*/, sandbox::Backend& /*backend*/)
{
    return "Ends a command that runs in the background, and every process it started: all are "
           "asked "
           "to end, and what still runs after two seconds is killed. It returns when nothing of it "
           "is left. bash_output shows what it had printed, and its exit code.\n\n"
           "Example: {\"task_id\": \"job-1-7c3e\"}";
}

json TaskStop::canonical(const json& arguments, const Settings& /*settings*/)
{
    const json given = by_its_name(arguments);
    std::string id;
    Decoder in(given);
    in.required("task_id", id, Length{1});
    in.finish();
    return {{"job_id", std::move(id)}};
}

void TaskStop::phrase(const json& /*arguments*/, const Settings& /*settings*/, Result& result)
{
    const auto& data = *result.data;
    const auto id = visible(data.at("job_id").get<std::string>());
    if (data.at("status") == "running") {
        return; // what could not be ended is said by the tool
    }
    result.failed = data.at("signalled") == 0;
    result.text = result.failed ? "Task " + id + " is not running (status: " + status(data) + ")"
                                : "Successfully stopped task: " + id + " (" +
                                      visible(data.at("command").get<std::string>()) + ")";
}

std::optional<Error> TaskStop::explain(const json& arguments, const Error& error)
{
    if (error.code() != ErrorCode::not_found) {
        return std::nullopt;
    }
    const auto id = by_its_name(arguments).at("task_id").get<std::string>();
    constexpr std::size_t shown = 60;
    return with_facts_of(error, Error(error.code(),
                                      "No task found with ID: " + visible(id.substr(0, shown)),
                                      in_words_of(&dialect(), error.hint())));
}

} // namespace berth::tools::claude
