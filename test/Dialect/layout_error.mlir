// RUN: %pmap-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{(layout-1) expected 1 sizes, got 2}}
func.func private @f(tensor<?xf32, #pmap.layout<["n", "m"], []>>)

// -----
// expected-error @+1 {{(layout-2) size "3" does not agree with dimension ?}}
func.func private @f(tensor<?xf32, #pmap.layout<["3"], []>>)

// -----
// expected-error @+1 {{(layout-2) size "n" does not agree with dimension 3}}
func.func private @f(tensor<3xf32, #pmap.layout<["n"], []>>)

// -----
// expected-error @+1 {{(layout-3) a static tensor that does not vary has no layout}}
func.func private @f(tensor<3xf32, #pmap.layout<["3"], []>>)

// -----
// expected-error @+1 {{(layout-4) the axes of V must be sorted and distinct}}
func.func private @f(tensor<f32, #pmap.layout<[], ["b", "a"]>>)

// -----
// expected-error @+1 {{(layout-5) size "1+n" is not in normal form, which is "n+1"}}
func.func private @f(tensor<?xf32, #pmap.layout<["1+n"], []>>)

// -----
// expected-error @+1 {{(layout-5) size "n+" is not in normal form}}
func.func private @f(tensor<?xf32, #pmap.layout<["n+"], []>>)

// -----
// expected-error @+1 {{(spec-1) axis "a" is used twice}}
func.func private @f() attributes {spec = #pmap.spec<[["a"], ["a"]]>}

// -----
// expected-error @+1 {{(mesh-1) expected one size for each of 2 axes, got 1}}
func.func private @f() attributes {mesh = #pmap.mesh<["a", "b"], [2]>}

// -----
// expected-error @+1 {{(mesh-2) axis "a" is named twice}}
func.func private @f() attributes {mesh = #pmap.mesh<["a", "a"], [2, 2]>}

// -----
// expected-error @+1 {{(mesh-3) sizes of a mesh must be positive, or -1 for at most one}}
func.func private @f() attributes {mesh = #pmap.mesh<["a", "b"], [-1, -1]>}

// -----
// expected-error @+1 {{(dist-1) expected a spec of 1 dimensions, got 2}}
func.func private @f(!pmap.dist<tensor<4xf32>, #pmap.spec<[["a"], []]>, #pmap.mesh<["a"], [2]>>)

// -----
// expected-error @+1 {{(dist-2) axis "b" is not of the mesh}}
func.func private @f(!pmap.dist<tensor<4xf32>, #pmap.spec<[["b"]]>, #pmap.mesh<["a"], [2]>>)

// -----
// expected-error @+1 {{(dist-3) a distributed value does not vary over its mesh outside of a pmap}}
func.func private @f(!pmap.dist<tensor<4xf32, #pmap.layout<["4"], ["a"]>>, #pmap.spec<[["a"]]>, #pmap.mesh<["a"], [2]>>)
