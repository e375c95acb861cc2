#include "server/http/metric_text.hpp"

#include <array>
#include <charconv>

namespace berth::server::http {

std::string metric_number(double value)
{
    std::array<char, 32> digits{};
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    return {digits.data(), error == std::errc() ? end : digits.data()};
}

void MetricText::family(std::string_view name, std::string_view kind, std::string_view help)
{
    text_.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ");
    text_.append(name).append(" ").append(kind).append("\n");
}

void MetricText::begin(std::string_view name, const Labels& labels)
{
    text_ += name;
    char before = '{';
    for (const auto& [label, value] : labels) {
        text_ += before;
        text_.append(label).append("=\"");
        for (const char c : value) {
            if (c == '\n') {
                text_ += "\\n";
            } else {
                text_ += c == '"' || c == '\\' ? "\\" : "";
                text_ += c;
            }
        }
        text_ += '"';
        before = ',';
    }
    text_ += labels.size() > 0 ? "} " : " ";
}

void MetricText::sample(std::string_view name, const Labels& labels, std::uint64_t value)
{
    begin(name, labels);
    text_ += std::to_string(value) + '\n';
}

void MetricText::sample(std::string_view name, const Labels& labels, double value)
{
    begin(name, labels);
    text_ += metric_number(value) + '\n';
}

void MetricText::gauge(std::string_view name, std::string_view help, std::uint64_t value)
{
    family(name, "gauge", help);
    sample(name, {}, value);
}

void MetricText::gauge(std::string_view name, std::string_view help, double value)
{
    family(name, "gauge", help);
    sample(name, {}, value);
}

void MetricText::counter(std::string_view name, std::string_view help, std::uint64_t value)
{
    family(name, "counter", help);
    sample(name, {}, value);
}

} // namespace berth::server::http
