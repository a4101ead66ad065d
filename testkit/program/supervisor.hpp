#pragma once
#include <program/worker.hpp>

#include <string>

namespace rdmagpu::testkit {

/// Records in processes of their own, so that what ends one, or ruins its driver, is found and left out.
int record(const RecordOptions&);
int replay(const std::string& tracePath, const std::string& fullPath);

} // namespace rdmagpu::testkit
