#pragma once
#include <program/session.hpp>

/// What an episode is made of: each makes one call, or a few that belong together, with arguments that are
/// right or wrong in one of several ways.
namespace rdmagpu::testkit::operations {

// device.cpp
void init(Session&);
void countDevices(Session&);
void getDevice(Session&);
void getDeviceText(Session&);
void getDeviceNumbers(Session&);
void getAttribute(Session&);
void nameError(Session&);
void getGranularity(Session&);

// contexts.cpp
void retain(Session&);
void release(Session&);
void push(Session&);
void pop(Session&);
void setCurrent(Session&);
void askContext(Session&);
void askPrimaryState(Session&);

// vmm.cpp
void createMemory(Session&);
void releaseMemory(Session&);
void reserve(Session&);
void freeReservation(Session&);
void map(Session&);
void setAccess(Session&);
void unmap(Session&);
void getProperties(Session&);
/// What a user does first: create, reserve, map, set access.
void makeUsable(Session&);

// exports.cpp
void exportRange(Session&);
void shareHandle(Session&);
void importHandle(Session&);
void getPointerAttribute(Session&);
void setPointerAttribute(Session&);

// copies.cpp
void allocate(Session&);
void freePlain(Session&);
void fill(Session&);
void upload(Session&);
void download(Session&);
void synchronize(Session&);
void flush(Session&);

// process.cpp
void beforeInit(Session&);
void callInChild(Session&);

} // namespace rdmagpu::testkit::operations
